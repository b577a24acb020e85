"""JSON as the standard has it: no NaN, no Infinity, no key twice.

Bytes or text of a file -> plain Python values, or one FileFormatError.
"""

import json
import reprlib
from typing import Any, NoReturn

from qubonn.errors import FileFormatError


def parse_json(name: str, data: bytes | str) -> Any:
    """Return the decoded value; `name` says in the error what was read.

    >>> parse_json("p.json", b'{"offset": 5}')
    {'offset': 5}
    >>> parse_json("p.json", b"[1, NaN]")
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: p.json must be strict JSON; got the constant NaN
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{name} must be strict JSON; line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise FileFormatError(f"{name} must be strict JSON; got lists nested too deeply") from None
    except ValueError as error:  # not text at all, numbers of thousands of digits, or ours below
        raise FileFormatError(f"{name} must be strict JSON; {error}") from None


def shown(value: object) -> str:
    """Return any value in a few words for an error, however large, deep or odd it is.

    >>> shown([[[[[[[["deep"]]]]]]]])
    '[[[[[[[...]]]]]]]'
    """
    try:
        return reprlib.repr(value)
    except Exception:  # such as a number of more digits than Python prints
        return f"a value of type {type(value).__name__}"


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"got the constant {constant}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        raise ValueError(
            f"an object must have each key once; got {shown([key for key, _ in pairs])}"
        )
    return decoded
