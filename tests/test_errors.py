import inspect

import pytest

from qubonn import errors
from qubonn.errors import MissingExtra, QubonnError

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, QubonnError) and kind is not QubonnError
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_is_also_the_builtin_that_callers_expect(kind: type[Exception]) -> None:
    assert issubclass(kind, (ValueError, TypeError, ImportError))
    assert kind.__doc__


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = MissingExtra.of("CpSat", "ortools", "exact")
    assert str(error) == "CpSat needs ortools; install it with  pip install 'qubonn[exact]'"
