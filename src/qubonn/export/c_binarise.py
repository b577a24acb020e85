"""Whole numbers into bits on the device: integer levels, no floating point.

Binariser of a classifier -> C function.  Paper, eq:dummy (f, with f(0) = -1).
"""

from typing import Literal

import numpy as np

from qubonn.encoding import BitPlanes
from qubonn.errors import RangeError
from qubonn.export import c_template as template
from qubonn.export.c_text import Section, Table
from qubonn.export.levels import Comparisons, require_comparisons, whole_levels
from qubonn.export.model import Exported

Inputs = Literal["bits", "uint8", "int8", "uint16", "int16", "int32"]

RANGES = {
    "uint8": (0, 2**8 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31) + 1, 2**31 - 1),  # one less, so that a level below all of them fits too
}


def binarising(model: Exported, inputs: str, scale: int) -> tuple[Section, Section]:
    """Return the function that turns features into bits, and the one that reads features."""
    if inputs not in RANGES:
        raise RangeError(f"inputs must be 'bits' or one of {', '.join(RANGES)}; got {inputs!r}")
    if isinstance(model.encoder, BitPlanes):
        section = _planes(model, model.encoder, inputs, scale)
    else:
        found = require_comparisons(model.encoder, model.topology.input_count, inputs)
        section = _levels(found, inputs, scale)
    return section, Section(template.READ_FEATURES, section.fields)


def _levels(found: Comparisons, inputs: str, scale: int) -> Section:
    levels = np.array(whole_levels(found.levels, scale, *RANGES[inputs]), dtype=np.int64)
    tables, column, level = [], "input", str(levels[0])
    if not found.is_one_each:
        tables.append(_table("column_of", found.column_of))
        column = "${name}_column_of[input]"
    if (levels != levels[0]).any():
        tables.append(_table("levels", levels))
        level = "${name}_levels[input]"
    comparison = f"(int32_t)features[{column}] > {level}"
    return _section(found.column_count, inputs, scale, comparison, tuple(tables))


def _planes(model: Exported, planes: BitPlanes, inputs: str, scale: int) -> Section:
    """Spin ``p * columns + c`` is bit ``bits - 1 - p`` of column c."""
    highest = RANGES[inputs][1]
    if scale != 1 or 2**planes.bits - 1 > highest:
        raise RangeError(
            f"bit planes of {planes.bits} bits need scale=1 and inputs that hold "
            f"{2**planes.bits - 1:,}; got scale={scale} and {inputs!r}, up to {highest:,}"
        )
    columns = model.topology.input_count // planes.bits
    value = f"(uint32_t)features[input % {columns}u]"
    if planes.gray:
        value = f"({value} ^ ({value} >> 1))"
    comparison = f"({value} >> ({planes.bits - 1}u - input / {columns}u)) & 1u"
    return _section(columns, inputs, scale, comparison, ())


def _section(
    columns: int, inputs: str, scale: int, comparison: str, tables: tuple[Table, ...]
) -> Section:
    fields = {
        "feature_count": columns,
        "feature_type": f"{inputs}_t",
        "features_are": f"{scale:,} times what the classifier was fitted to",
    }
    text = template.BINARISE.replace("$comparison", comparison)
    return Section(text, fields, tables)


def _table(name: str, values: np.ndarray) -> Table:
    """A table of the smallest type that holds its values."""
    for kind in ("uint8", "int8", "uint16", "int16", "int32"):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        if low <= values.min() and values.max() <= high:
            break
    return Table(f"{kind}_t", name, values, field_bytes=np.dtype(kind).itemsize)
