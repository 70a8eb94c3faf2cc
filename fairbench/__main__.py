"""The command ``fairbench``, and ``python -m fairbench``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback, also while it still loads."""
    try:
        from fairbench.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
