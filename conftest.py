"""What all tests need, also those in docstrings and pages."""

import doctest
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

from qubonn.errors import MissingExtra

# a busy machine must not fail a test that is only slow
settings.register_profile("qubonn", deadline=None)
settings.load_profile("qubonn")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # shells start background jobs deaf to Ctrl-C, and so would be the processes that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test whose optional package is not installed."""
    try:
        return (yield)
    except MissingExtra as error:
        pytest.skip(str(error))
    except doctest.UnexpectedException as error:
        if isinstance(missing := error.exc_info[1], MissingExtra):
            pytest.skip(str(missing))
        raise
