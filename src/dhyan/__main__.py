"""`python -m dhyan` is the command line."""

from dhyan.cli import main

main()
