"""The documentation as a site: pages written by hand, and pages generated from the data of the profile.

`python -m tools.pages FOLDER` writes the sources of the site; `make docs` builds it with Sphinx.
"""
