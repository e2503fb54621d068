"""What every package uses: errors, escaping, atomic files, the status line, resources of the installation."""
