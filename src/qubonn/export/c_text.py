"""Python values as C text, safe whatever they contain.

Names -> identifiers, comments and string literals; arrays -> constant tables. Whatever a user calls
a model or a class, no quote, backslash, newline, trigraph or end of comment gets through.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import RangeError

LONGEST_NAME = 31  # C99 compares at least 31 characters of a name, and ours have endings
PER_LINE = 8
LONGEST_STRING = 4095  # that every C99 compiler accepts
NOT_PLAIN = r"[^A-Za-z0-9 _.,:;+=(){}\[\]<>@#$%&^|~!'-]"  # among them " \ ? / *


def identifier(name: str) -> str:
    """Return a C identifier that reads like `name`: letters, digits and underscores.

    >>> identifier("letters"), identifier("7 segments*/"), identifier("")
    ('letters', 'model_7_segments', 'model')
    """
    if not isinstance(name, str):
        raise RangeError(f"name must be text; got {name!r:.60}")
    words = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not words[:1].isalpha():  # names that start with an underscore belong to the compiler
        words = f"model_{words}".strip("_")
    return words[:LONGEST_NAME].rstrip("_")


def comment(text: str) -> str:
    """Return text for the inside of a comment: characters that may do harm become underscores.

    >>> comment("a*/ system(); /" + "*")
    'a__ system(); __'
    """
    return re.sub(NOT_PLAIN, "_", text)


def string_literal(text: str) -> str:
    r"""Return a C string literal; bytes of UTF-8 other than plain ones in octal.

    >>> print(string_literal('"?\n' + "\u00e97"))
    "\042\077\012\303\2517"
    """
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > LONGEST_STRING:
        raise RangeError(
            f"a class must have a name of at most {LONGEST_STRING:,} bytes to be written as C; "
            f"got {len(data):,}: {text!r:.60}"
        )
    plain = re.sub(NOT_PLAIN.encode(), lambda byte: b"\\%03o" % ord(byte[0]), data)
    return f'"{plain.decode()}"'


@cache
def template(name: str) -> Any:
    """Return a file with ``${placeholders}`` and ``/*% if ... %*/``, which C reads as comments.

    Values are not searched for more placeholders.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        block_start_string="/*%",
        block_end_string="%*/",
        variable_start_string="${",
        variable_end_string="}",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "comment": comment,
        "literal": string_literal,
        "some": lambda count, what: f"{count:,} {what}{'' if count == 1 else 's'}",
        "declared": lambda tables, prefix: "\n\n".join(table.text(prefix) for table in tables),
    }
    return environment.from_string(files("qubonn.export").joinpath(name).read_text("utf-8"))


def number(value: int | float) -> str:
    """Return a C literal; of a float one of single precision.

    >>> number(-3), number(0.1)
    ('-3', '1.000000000e-01f')
    """
    return str(value) if isinstance(value, int) else f"{value:.9e}f"


@dataclass(frozen=True, eq=False)
class CArray:
    """A constant array of numbers, or of records of several whole numbers."""

    kind: str  # of an element, in C; uint32_t for words of bits, _... for one of the model's own
    name: str  # what follows the model's name
    values: NDArray[Any]  # elements, or elements x fields
    about: str = ""  # a comment
    field_bytes: int = 4

    @property
    def byte_count(self) -> int:
        """Bytes of the array in C; an empty one still has one element."""
        return self.field_bytes * max(self.values.size, int(np.prod(self.values.shape[1:])))

    def text(self, prefix: str) -> str:
        """Return the declaration.

        >>> print(CArray("uint32_t", "words", np.array([255])).text("net"))
        static const uint32_t net_words[] = {
            0x000000FFu
        };
        """
        about = f" /* {self.about} */" if self.about else ""
        kind = prefix + self.kind if self.kind.startswith("_") else self.kind
        values = self.values if len(self.values) else np.zeros((1, *self.values.shape[1:]), int)
        if values.ndim == 2:
            lines = [f"{{{', '.join(map(str, row))}}}" for row in values.tolist()]
        else:
            show = "0x{:08X}u".format if kind == "uint32_t" else number
            shown = [show(value) for value in values.tolist()]
            lines = [", ".join(shown[k : k + PER_LINE]) for k in range(0, len(shown), PER_LINE)]
        body = ",\n    ".join(lines)
        return f"static const {kind} {prefix}_{self.name}[] = {{{about}\n    {body}\n}};"
