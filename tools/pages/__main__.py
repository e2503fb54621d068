"""Write the sources of the site to a folder: `python -m tools.pages FOLDER`."""

import argparse
from pathlib import Path

from tools.pages.site import write_site

parser = argparse.ArgumentParser(prog="python -m tools.pages", description="Write the sources of the documentation.")
parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder, which is emptied first")
write_site(parser.parse_args().folder)
