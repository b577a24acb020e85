"""Put doctests in docstrings between fences, so that the reference shows them as code.

Docstring -> docstring, for griffe; named in mkdocs.yml.
"""

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)


class FencedDoctests(griffe.Extension):
    """Fence each run of lines that begins with a prompt, up to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a class, function, method or attribute."""
        if obj.docstring is not None and not _has_section(obj.docstring.value):
            obj.docstring.value = _DOCTEST.sub(_fenced, obj.docstring.value)


def _fenced(match: re.Match[str]) -> str:
    return f"```pycon\n{match[0].rstrip()}\n```\n"


def _has_section(text: str) -> bool:
    return "Examples\n----" in text  # numpy's own section is fenced already
