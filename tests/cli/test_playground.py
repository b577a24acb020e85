import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from qubonn.cli.playground import page_path

Call = Callable[..., Result]


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that are opened from now on, in no browser."""
    opened: list[str] = []

    def open_page(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    return opened


def test_without_a_browser_only_the_path_is_printed(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = recorded(monkeypatch)
    printed = call("playground", "--no-browser").stdout.strip()
    assert Path(printed) == page_path()
    assert Path(printed).read_text("utf-8").startswith("<!DOCTYPE html>")
    assert not opened


def test_the_page_is_opened_as_a_file(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = recorded(monkeypatch)
    call("playground")
    assert opened == [page_path().as_uri()]


def test_a_machine_without_a_browser_gets_a_note(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    done = call("playground")
    assert "open the file" in done.stderr
    assert str(page_path()) in done.stdout


def test_json_has_the_path(call_json: Callable[..., dict[str, Any]]) -> None:
    said = call_json("playground", "--no-browser")
    assert said == {"page": str(page_path()), "is_open": False}
