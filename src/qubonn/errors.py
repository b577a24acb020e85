"""Errors that bad input raises: one base class, few children.

Each child is also the builtin exception that callers expect, so ``except ValueError`` works too.
"""


class QubonnError(Exception):
    """Base of all errors that qubonn raises."""


class ShapeError(QubonnError, ValueError):
    """An array has the wrong shape."""


class AlphabetError(QubonnError, ValueError):
    """An array holds values outside its alphabet, such as a 0 among spins."""


class CellTypeError(QubonnError, TypeError):
    """A cell of a table is neither a number, text nor a truth value."""


class RangeError(QubonnError, ValueError):
    """A number lies outside its range."""


class TopologyError(QubonnError, ValueError):
    """A graph is not what the operation needs."""


class NotationError(QubonnError, ValueError):
    """A network written as text cannot be read."""


class FileFormatError(QubonnError, ValueError):
    """A file is truncated, corrupted, hostile or of another kind."""


class StudyMismatch(QubonnError, ValueError):
    """A store holds another study than the requested one."""


class MissingExtra(QubonnError, ImportError):
    """An optional package is not installed."""

    @classmethod
    def of(cls, who: str, package: str, extra: str) -> "MissingExtra":
        """Say who needs which package and how to install it.

        >>> print(MissingExtra.of("to_networkx", "networkx", "graph"))
        to_networkx needs networkx; install it with  pip install 'qubonn[graph]'
        """
        return cls(f"{who} needs {package}; install it with  pip install 'qubonn[{extra}]'")


class FitInterrupted(UserWarning):
    """Ctrl-C ended a training; the best result so far is kept."""


class Underfitted(UserWarning):
    """A classifier is hardly better than the largest class on its own training examples."""


class ContradictingExamples(UserWarning):
    """Some examples have the same input spins and different outputs: zero energy is impossible."""


class EnergiesDiffer(UserWarning):
    """Samples came with energies that are not theirs: they may belong to another problem."""
