"""to_c: a model as one C99 header, for processors with little memory and no floating point.

BinaryNetwork, Committee or QuboClassifier -> C source.  Paper, eq:activation.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from qubonn import __version__
from qubonn.checks import require_count
from qubonn.encoding import BitPlanes
from qubonn.errors import RangeError
from qubonn.export.c_text import CArray, identifier, number, template
from qubonn.export.features import feature_levels, feature_notes, require_planes, require_whole
from qubonn.export.model import Classes, Comparisons, Exported, exported, float32_levels
from qubonn.files import write_folder
from qubonn.inference.c_layout import WORD, BitLayout, packed
from qubonn.storage import write_whole
from qubonn.topology.blocks import threshold_digits

Inputs = Literal["bits", "uint8", "int8", "uint16", "int16", "int32", "float"]

NUMBERS = get_args(Inputs)[1:]  # types of features; whole numbers first, smaller ones before
THRESHOLD_BYTES = 4  # of a binariser, whose features may have any scale


def to_c(
    model: object,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "model",
    inputs: Inputs = "bits",
    scale: int = 1,
    with_main: bool = False,
) -> str:
    """Return a model as a C99 header, and write it to `path` if one is given.

    The model is a `BinaryNetwork`, a `Committee` or a fitted `QuboClassifier` without cycles. Every
    identifier in the header begins with `name`, made into one. Its functions read inputs as bits,
    32 to a word; `inputs` adds a function that makes these bits out of features of that type: whole
    numbers, `scale` times the features that the classifier was fitted to, or floats. For words it
    takes their indices, ``binariser_.codes(X)``; a missing feature is NaN, or of whole numbers the
    smallest of a signed and the largest of an unsigned type. `with_main` adds a program that reads
    examples, for ``gcc -x c -DMODEL_MAIN model.h``.

    >>> import qubonn as qn
    >>> network = qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0)
    >>> print(qn.to_c(network, name="letters")[:13])
    /*
     * letters
    """
    parts, prefix = exported(model), identifier(name)
    layout = BitLayout(parts.topology)
    features = _features(parts, prefix, inputs, require_count("scale", scale))
    source: str = template("model.h.in").render(
        name=prefix,
        title=name,
        version=__version__,
        model=parts,
        layout=layout,
        network_tables=_network_tables(parts, layout),
        class_tables=_class_tables(parts.classes),
        scale=scale,
        features=features,
        with_main=with_main,
    )
    if path is not None:
        write_whole(path, source.encode("ascii"))
    return source


def to_arduino(
    model: object,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    inputs: Inputs = "bits",
    scale: int = 1,
) -> str:
    """Write an Arduino sketch to a folder: the header of `to_c`, and a program that uses it.

    The program reads examples from the serial line and answers with classes. Arduino wants the
    folder's name for the program, so that `name`, of the header, is this by default. Returns the
    program.
    """
    stem = Path(os.path.abspath(folder)).name
    prefix = identifier(stem if name is None else name)
    if inputs == "float":
        raise RangeError("inputs of a sketch must be whole numbers; got 'float': choose a scale")
    header = to_c(model, name=prefix, inputs=inputs, scale=scale)
    known = {"name": prefix, "title": stem if name is None else name, "version": __version__}
    known |= {"features": "" if inputs == "bits" else inputs}
    has_labels = exported(model).classes is not None
    source: str = template("sketch.ino.in").render(known, has_labels=has_labels)
    write_folder(folder, {f"{prefix}.h": header, f"{stem}.ino": source})
    return source


def device_bytes(model: object) -> int:
    """Return the bytes that a device must store to predict: the tables that `to_c` writes.

    A classifier needs 4 more for each threshold of its binariser. Code and names of classes are not
    counted. Of networks and committees this is also ``summary().byte_count``.

    >>> import qubonn as qn
    >>> device_bytes(qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0))
    84
    """
    parts = exported(model)
    tables = sum(table.byte_count for table in _class_tables(parts.classes))
    thresholds = THRESHOLD_BYTES * parts.threshold_count
    return BitLayout(parts.topology).byte_count(parts.member_count) + tables + thresholds


def _network_tables(model: Exported, layout: BitLayout) -> list[CArray]:
    weights = layout.weights(model.weight_spins)
    thresholds = threshold_digits(model.topology, model.weight_spins, model.bias_spins)
    biases = packed(thresholds[:, layout.bias_numbers] & (layout.bias_numbers >= 0))
    per_member = "{:,} words for each member"
    size, fields = layout.index_bytes, layout.field_count
    return [
        CArray("_step", "steps", np.array(layout.records)[:, :fields], field_bytes=size),
        CArray("_run", "runs", np.array(layout.runs).reshape(-1, 2), field_bytes=size),
        CArray("_index", "output_of", np.array(layout.output_of), field_bytes=size),
        CArray("uint32_t", "weights", weights.reshape(-1), per_member.format(weights.shape[1])),
        CArray("uint32_t", "biases", biases.reshape(-1), per_member.format(biases.shape[1])),
    ]


def _class_tables(classes: Classes | None) -> list[CArray]:
    """Return what turns votes into scores of classes, unless votes are the scores."""
    if classes is None:
        return []
    if classes.offsets is not None:
        return [CArray("int32_t", "offsets", classes.offsets, "added to the votes")]
    if classes.evidence is None:
        return []
    spin_count = classes.codewords.shape[1]
    padding = ((0, 0), (0, -spin_count % WORD))
    codewords = packed(np.pad(classes.codewords > 0, padding)).reshape(-1)
    return [
        CArray("int32_t", "evidence", classes.evidence, "of an output, by members that say +1"),
        CArray("uint32_t", "codewords", codewords, "outputs of each class"),
    ]


# ---- features into bits on the device ----


@dataclass(frozen=True, eq=False)
class Features:
    """How C turns features into input bits; no features if the inputs are bits already."""

    count: int = 0
    kind: str = ""  # of a feature, in C
    bit: str = ""  # C expression for the bit of `input`
    tables: tuple[CArray, ...] = ()
    missing: str = ""  # C expression for a missing feature; none if there is no such number
    notes: tuple[str, ...] = ()  # what each feature stands for, where some are words


def _features(model: Exported, prefix: str, inputs: str, scale: int) -> Features:
    """Return how C turns features into input bits: by shifts, or by comparisons with levels."""
    require_whole(inputs, scale)
    if inputs == "bits":
        return Features()
    if inputs not in NUMBERS:
        raise RangeError(f"inputs must be 'bits' or one of {', '.join(NUMBERS)}; got {inputs!r}")
    if isinstance(model.encoder, BitPlanes):
        return _planes(model.topology.column_count, model.encoder, inputs, scale)
    return _compared(model.require_comparisons(inputs), model.names, prefix, inputs, scale)


def _compared(
    spins: Comparisons, names: tuple[str, ...] | None, prefix: str, inputs: str, scale: int
) -> Features:
    """Return comparisons with levels; a table that would hold one value is left out."""
    is_float, limits = inputs == "float", np.iinfo("int32" if inputs == "float" else inputs)
    levels = _float_levels(spins) if is_float else feature_levels(spins, scale, limits)
    tables, column, level = [], "input", number(levels.tolist()[0])
    if not np.array_equal(spins.column_of, np.arange(spins.column_count)):
        tables.append(_small_array("column_of", spins.column_of))
        column = f"{prefix}_column_of[input]"
    if (levels != levels[0]).any():
        tables.append(
            CArray("float", "levels", levels) if is_float else _small_array("levels", levels)
        )
        level = f"{prefix}_levels[input]"
    value = f"features[{column}]" if is_float else f"(int32_t)features[{column}]"
    if spins.categories is None:
        shown = Features(spins.column_count, bit=f"{value} > {level}")
    else:
        tables.append(_small_array("rules", spins.rule_of))
        rule, name = f"{prefix}_rules[input]", f"{prefix.upper()}_MISSING"
        is_missing = f"{value} != {value}" if is_float else f"{value} == {name}"
        above = f"{value} > {level}" + ("" if is_float else f" && {value} != {name}")
        shown = Features(
            spins.column_count,
            bit=f"{rule} == 0 ? {above} : {rule} == 1 ? {value} == {level} : {is_missing}",
            missing="" if is_float else f"{inputs.upper()}_{'MIN' if limits.min < 0 else 'MAX'}",
            notes=feature_notes(spins, names),
        )
    return replace(shown, kind="float" if is_float else f"{inputs}_t", tables=tuple(tables))


def _float_levels(spins: Comparisons) -> NDArray[Any]:
    """Return levels as finite float32; a level below them all is the smallest."""
    return np.maximum(float32_levels(spins.levels), np.finfo(np.float32).min)


def _planes(input_count: int, planes: BitPlanes, inputs: str, scale: int) -> Features:
    """Return shifts: spin ``p * columns + c`` is bit ``bits - 1 - p`` of column c."""
    highest = 2**24 if inputs == "float" else np.iinfo(inputs).max
    require_planes(planes, inputs, scale, int(highest))
    columns = input_count // planes.bits
    value = f"(uint32_t)features[input % {columns}u]"
    if planes.gray:
        value = f"({value} ^ ({value} >> 1))"
    bit = f"({value} >> ({planes.bits - 1}u - input / {columns}u)) & 1u"
    return Features(columns, "float" if inputs == "float" else f"{inputs}_t", bit)


def _small_array(name: str, values: np.ndarray) -> CArray:
    """Return a table of the smallest type that holds its values."""
    for kind in NUMBERS[:-1]:
        if np.iinfo(kind).min <= values.min() and values.max() <= np.iinfo(kind).max:
            break
    return CArray(f"{kind}_t", name, values, field_bytes=np.dtype(kind).itemsize)
