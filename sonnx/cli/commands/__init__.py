"""The commands, one module each, named as the command: `HELP`, and `add_arguments`, which also says what is run."""
