"""The evidence pack of `sonnx audit`: made from a model as files in memory, written whole, and checked again."""
