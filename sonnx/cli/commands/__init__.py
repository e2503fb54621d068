"""The commands, one module each, named like the command: its `HELP`, and `add_arguments`, which sets its function."""
