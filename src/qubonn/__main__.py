"""``python -m qubonn``: the command line."""

from qubonn.cli import main

if __name__ == "__main__":
    main(prog_name="qubonn")
