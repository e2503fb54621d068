"""The newest edition, so that a new one changes no test."""

from sonnx.profile import catalogue

NEWEST = catalogue.editions().default
"""The edition that is checked where none is named."""
EDITION = r"\b\d{4}-\d{2}\b"
"""How the name of an edition is written."""
