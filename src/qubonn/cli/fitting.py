"""Train under the eyes of somebody who may stop it: Ctrl-C and SIGTERM keep the best so far.

Classifier, Table -> how it ended, as an exit code.
"""

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

import qubonn as qn
from qubonn.cli.exits import INTERRUPTED, NOT_REACHED, OK, TERMINATED
from qubonn.cli.screen import Screen
from qubonn.datasets import Table
from qubonn.errors import AlphabetError, FitInterrupted, QubonnError


def fit(classifier: "qn.QuboClassifier", table: Table, screen: Screen) -> int:
    """Fit the classifier; return OK, INTERRUPTED or TERMINATED."""
    with _sigterm_as_ctrl_c() as is_terminated, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            classifier.fit(table.inputs, table.known_labels)
        except QubonnError:
            raise
        except ValueError as error:  # scikit-learn's own words
            raise AlphabetError(f"{table.source}: {error}") from error
    for warning in caught:
        if not issubclass(warning.category, FitInterrupted):
            screen.note(f"Note: {warning.message}")
    if classifier.is_interrupted_:
        complete = sum(member.is_complete for member in classifier.members_)
        screen.note(
            f"Interrupted: {complete} of {classifier.committee_size} networks are complete"
            + ("" if complete else "; the one in training is kept as far as it is")
            + ". The same command with --resume goes on"
        )
        return TERMINATED if is_terminated else INTERRUPTED
    return OK


def leave(screen: Screen, end: int, accuracy: float, at_least: float | None) -> None:
    """End the program with the code that says how it went."""
    if end == OK and at_least is not None and accuracy < at_least:
        screen.note(f"Accuracy {accuracy:.4f} is less than the {at_least:g} that was asked for")
        end = NOT_REACHED
    if end != OK:
        click.get_current_context().exit(end)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[bool]]:
    """Treat a polite kill as Ctrl-C; the list is filled when it came."""
    came: list[bool] = []

    def handle(number: int, frame: FrameType | None) -> NoReturn:
        came.append(True)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)
