"""The commands, one module each, named like the command: `add_arguments`, which sets its function.

`main.run` prints what a command refuses as one sentence: wrong use, an unreadable model, a file that cannot be written.
"""
