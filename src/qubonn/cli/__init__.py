"""The command line: one file a command, imported when it is called or listed.

``qubonn COMMAND`` -> qubonn.cli.COMMAND.command
"""

import atexit
import io
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from qubonn import __version__
from qubonn.cli.screen import INTERRUPTED, WRITTEN, WRONG, printable
from qubonn.errors import QubonnError

__all__ = ["main", "run"]

COMMANDS = ("demo", "train", "predict", "inspect", "qubo", "decode", "export", "bench",
            "reproduce", "report", "playground")  # fmt: skip


class _LazyGroup(click.Group):
    """Imports only the command that is called; errors become one line and an exit code."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"qubonn.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click exits quietly when the reader of a pipe is gone
        except OSError as error:
            has_place = error.strerror and error.filename is not None
            line = f"{error.filename}: {error.strerror}" if has_place else str(error)
            raise _Wrong(printable(line)) from error
        except QubonnError as error:
            raise _Wrong(printable(str(error))) from error
        except MemoryError as error:
            raise _Wrong("there is not enough memory: use fewer examples") from error
        except KeyboardInterrupt:
            _say_interrupted(context)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except Exception:
            if not _interrupts.received:
                raise
            _say_interrupted(context)  # while a package was imported, which made this of it


def _say_interrupted(context: click.Context) -> NoReturn:
    written = context.meta.get(WRITTEN)
    done = "nothing was written" if written is None else f"{printable(str(written))} is written"
    click.echo(f"\nInterrupted; {done}.", err=True)
    context.exit(INTERRUPTED)


class _Interrupts:
    """Counts Ctrl-C, and sends it again where Python would only report it and go on."""

    def __init__(self) -> None:
        self.received = 0

    def handle(self, number: int, frame: object) -> None:
        self.received += 1
        raise KeyboardInterrupt

    def send_again(self, lost: "sys.UnraisableHookArgs") -> None:
        """Replace `sys.unraisablehook`: it is called for errors in destructors and callbacks."""
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()


_interrupts = _Interrupts()


class _Wrong(click.ClickException):
    """Wrong input: one sentence, nothing written."""

    exit_code = WRONG


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="Exit codes: 0 for success, 2 for wrong usage or input, 3 for a result below what was "
    "required, 130 after Ctrl-C; the best result so far is kept.",
)
@click.version_option(__version__, prog_name="qubonn")
def main() -> None:
    """Train networks of -1 and +1 by minimising an energy instead of following a gradient."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # labels that an old terminal cannot show
            stream.reconfigure(errors="backslashreplace")


def run() -> None:
    """Run the command line as a process: Ctrl-C at any time ends it with 130 and one sentence."""
    if callable(signal.getsignal(signal.SIGINT)):  # unless it is ignored
        signal.signal(signal.SIGINT, _interrupts.handle)
        sys.unraisablehook = _interrupts.send_again
    try:
        main(prog_name="qubonn")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left to stop
        _end_workers()
        if _interrupts.received:
            _leave()


def _leave() -> NoReturn:
    """End after Ctrl-C with the code that was set; Python might end by the signal instead."""
    end = sys.exc_info()[1]
    code = end.code if isinstance(end, SystemExit) else INTERRUPTED
    code = INTERRUPTED if code == 1 or not isinstance(code, int) else code  # click alone saw it
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader of a pipe is gone
            stream.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def _end_workers() -> None:
    """End the idle worker processes of joblib now, not after a timeout."""
    name = "joblib.externals.loky.reusable_executor"
    executor = getattr(sys.modules.get(name), "_executor", None)
    if executor is not None:
        with suppress(Exception):  # they are gone already
            executor.shutdown(wait=True, kill_workers=True)
