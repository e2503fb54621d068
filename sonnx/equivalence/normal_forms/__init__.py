"""Normal forms of calls: calls that compute the same get one form, a module for each kind."""
