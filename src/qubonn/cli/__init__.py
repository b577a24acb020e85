"""The command line: one file a command, each imported when it is called.

``qubonn COMMAND`` -> qubonn.cli.COMMAND.command
"""

import io
import sys
from importlib import import_module

import click

from qubonn import __version__
from qubonn.cli.screen import INTERRUPTED, WRONG
from qubonn.errors import QubonnError

__all__ = ["main"]

COMMANDS = {
    "demo": "Show the whole road on the paper's letters, in seconds.",
    "train": "Train on a CSV, IDX or npz file; write a model.",
    "predict": "Ask a model about new examples.",
    "inspect": "Say what a model, a QUBO or a problem is, and draw it.",
    "qubo": "Write the QUBO of a training problem, for an Ising machine.",
    "decode": "Turn an Ising machine's samples into a model.",
    "export": "Write a model as C or ONNX, for devices and runtimes.",
    "bench": "Measure how fast this machine anneals, trains and predicts.",
    "reproduce": "Rebuild the tables of the paper, beside its numbers.",
    "report": "Turn the runs of reproduce into one page with tables and figures.",
}


class _LazyGroup(click.Group):
    """Lists the commands without importing them, so that --help answers at once."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"qubonn.cli.{name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # click ends quietly when nobody reads on
        except (QubonnError, OSError) as error:
            raise _Wrong(_one_line(error)) from error
        except MemoryError as error:
            raise _Wrong("there is not enough memory: use fewer examples") from error
        except KeyboardInterrupt:
            click.echo("\nInterrupted; nothing was written.", err=True)
            context.exit(INTERRUPTED)


class _Wrong(click.ClickException):
    """Wrong input: one sentence, nothing written."""

    exit_code = WRONG


def _one_line(error: Exception) -> str:
    from qubonn.cli.screen import printable

    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return printable(f"{error.filename}: {error.strerror}")
    return printable(str(error))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Ends with 0 if all is well, 2 on wrong usage or input, 3 if a result is worse than you "
    "asked for, 130 after Ctrl-C; the best so far is kept.",
)
@click.version_option(__version__, prog_name="qubonn")
def main() -> None:
    """Train networks of -1 and +1 by minimising an energy instead of following a gradient."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # labels that an old terminal cannot show
            stream.reconfigure(errors="backslashreplace")
