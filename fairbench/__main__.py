"""``python -m fairbench``: the same as the command ``fairbench``."""

from fairbench.cli.app import main

main()
