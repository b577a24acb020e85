"""``python -m qubonn``, and the script ``qubonn``: the command line as a process."""

import os
import signal
import sys
from typing import Any


def _end_at_once(*_: Any) -> None:
    os.write(sys.stderr.fileno(), b"\nInterrupted; nothing was written.\n")
    os._exit(130)


def run() -> None:
    """Run the command line; Ctrl-C ends it with 130 and one sentence, also while it starts."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    from qubonn import cli

    cli.run()


if __name__ == "__main__":
    run()
