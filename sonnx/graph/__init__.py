"""The one interpreter of models: scopes, names, constants, calls, control flow; what a value is decides a domain."""
