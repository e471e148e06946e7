"""``python -m discreet``: the same command, for where scripts are not on the path."""

from discreet.cli import main

if __name__ == "__main__":
    main()
