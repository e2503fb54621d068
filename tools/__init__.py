"""Programs for the developers of this project: `python -m tools.NAME`. They are not part of the installed package."""
