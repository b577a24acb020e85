"""Which versions made a row."""

import json
import platform
from functools import cache
from importlib.metadata import version

from qubonn import __version__


@cache
def versions() -> str:
    """Return versions of qubonn, Python and what the numbers depend on, as JSON.

    >>> sorted(json.loads(versions()))
    ['numba', 'numpy', 'python', 'qubonn', 'scipy']
    """
    found = {name: version(name) for name in ("numpy", "scipy", "numba")}
    found |= {"qubonn": __version__, "python": platform.python_version()}
    return json.dumps(found, sort_keys=True)


def read_versions(text: str) -> dict[str, str]:
    """Read what `versions` wrote; anything else is no versions.

    >>> read_versions('{"numpy": "2.0"}'), read_versions("?")
    ({'numpy': '2.0'}, {})
    """
    try:
        found = json.loads(text)
        return {str(name): str(value) for name, value in found.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}
