"""Entry point of `python -m dhyan`: runs the command line."""

from dhyan.cli import main

main()
