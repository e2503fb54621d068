"""What every package uses: errors, escaping, files written whole, resources of the installation."""
