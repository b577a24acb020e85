"""QUBO files of other programs, whose variables are plain numbers.

Qubo <-> COO (dimod), MatrixMarket (scipy), rudy (Max-Cut), bqpjson.  All but bqpjson have no place
for an offset and labels: these stand beside the file, in FILE.labels.json.

- COO: lines ``i j value`` below ``# vartype=BINARY`` or ``# vartype=SPIN``.
- MatrixMarket: the energy is x'Qx, as in `Qubo.from_matrix`.
- rudy: ``vertices edges``, lines ``i j weight`` from 1 on; the energy is minus the cut.  A QUBO
  with linear terms gets one vertex more, the last: invert the partitions where it has 1.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import (
    is_number,
    map_name,
    plain_labels,
    read_labels,
    read_map,
    write_map,
)
from qubonn.quadratic.ising import Ising
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.term_lines import (
    Entries,
    read_terms,
    read_text,
    require_few_silent,
    shown_line,
    term_lines,
)
from qubonn.storage import parse_json, shown, write_whole

VARTYPE = re.compile(rb"^[ \t]*#.*?vartype[:=][ \t]*([-\w.]+)", re.MULTILINE)
MARKET = re.compile(
    rb"%%MatrixMarket\s+matrix\s+coordinate\s+(?:real|integer)\s+(general|symmetric)\s*", re.I
)
SIZES = re.compile(rb"\s*(\d{1,10})\s+(?:(\d{1,10})\s+)?(\d{1,18})\s*")
DOMAINS = {"boolean", "spin"}
Energy = Qubo | Ising


# ---- COO ----


def write_coo(energy: Energy, path: str) -> None:
    """Write a line for each variable, zeros included, then the couplings."""
    values = _parts(energy)
    kind = b"BINARY" if isinstance(energy, Qubo) else b"SPIN"
    lines = [b"# vartype=%b\n" % kind, *_positional_lines(*values)]
    write_map(path, energy.labels, energy.offset)
    write_whole(path, b"".join(lines))


def read_coo(path: str) -> Qubo:
    """Read lines in any order, which may repeat; variables are 0 to the largest number."""
    text = read_text(path)
    kinds = set(VARTYPE.findall(text))
    if len(kinds) != 1 or not kinds <= {b"BINARY", b"SPIN"}:
        raise FileFormatError(
            f"{path} must have a line '# vartype=BINARY' or '# vartype=SPIN'; got {shown(kinds)}"
        )
    terms = read_terms(path, text, 1, b"#")
    count = int(max(terms.rows.max(initial=-1), terms.columns.max(initial=-1))) + 1
    return _energy(path, terms, 0, count, is_spin=kinds == {b"SPIN"})


# ---- MatrixMarket ----


def write_market(qubo: Qubo, path: str) -> None:
    """Write the upper triangle, the linear terms on its diagonal."""
    count, kind = qubo.variable_count, b"integer" if qubo.is_exact else b"real"
    head = b"%%%%MatrixMarket matrix coordinate %b general\n%d %d %d\n" % (
        *(kind, count, count),
        count + qubo.coupling_count,
    )
    numbers = np.arange(1, count + 1)
    lines = term_lines(numbers, numbers, qubo.linear)
    more = term_lines(qubo.rows + 1, qubo.columns + 1, qubo.couplings)
    write_map(path, qubo.labels, qubo.offset)
    write_whole(path, b"".join([head, *lines, *more]))


def read_market(path: str) -> Qubo:
    """Read a sparse matrix, all of it or one half of a symmetric one."""
    text = read_text(path)
    first, _, rest = text.partition(b"\n")
    head = MARKET.fullmatch(first)
    if head is None:
        raise FileFormatError(
            f"{path} must begin with '%%MatrixMarket matrix coordinate real general' (or integer, "
            f"or symmetric); got {shown_line(first)}: write a dense or complex matrix as "
            "scipy.io.mmwrite(path, scipy.sparse.coo_array(Q))"
        )
    sizes, rest, line = _sizes(path, rest, 2, b"%")
    if sizes[0] != sizes[1]:
        raise FileFormatError(f"{path} must be a square matrix; got {sizes[0]} x {sizes[1]}")
    terms = _counted_terms(path, rest, line, sizes[2])
    if head[1].lower() == b"symmetric":  # each half stands for both
        factor = np.where(terms.rows == terms.columns, 1, 2).astype(terms.values.dtype)
        terms = terms._replace(values=terms.values * factor)
    return _energy(path, terms, 1, sizes[0])


# ---- rudy ----


def write_rudy(qubo: Qubo, path: str) -> None:
    """Write the Max-Cut problem of the same energy: E = offset - factor * cut."""
    weights, to_ground = qubo.couplings, -2 * qubo.linear - _row_sums(qubo)
    is_odd = qubo.is_exact and bool((weights % 2).any() or (to_ground % 2).any())
    if not is_odd:
        halves = weights / 2, to_ground / 2
        weights, to_ground = (half.astype(qubo.linear.dtype) for half in halves)
    found = _of_cut(qubo.rows, qubo.columns, weights, to_ground, 1 if is_odd else 2)
    if not (np.array_equal(found[0], qubo.linear) and np.array_equal(found[1], qubo.couplings)):
        raise FileFormatError(
            f"{path}: rudy files hold sums of coefficients, which are too large or too long here "
            "to be exact; use .npz, .qubo, .coo, .mtx or .json"
        )
    kept, has_ground = np.flatnonzero(to_ground), bool(to_ground.any())
    count = qubo.variable_count
    head = b"%d %d\n" % (count + has_ground, len(weights) + len(kept))
    ground = np.full(len(kept), count + 1)
    lines = term_lines(qubo.rows + 1, qubo.columns + 1, weights)
    more = term_lines(kept + 1, ground, to_ground[kept])
    document = {"has_ground": has_ground, "is_halved": is_odd}
    write_map(path, qubo.labels, qubo.offset, **document)
    write_whole(path, b"".join([head, *lines, *more]))


def read_rudy(path: str) -> Qubo:
    """Read a graph; without a map beside it, the energy is minus the cut."""
    sizes, rest, line = _sizes(path, read_text(path), 1, b"#")
    terms = _counted_terms(path, rest, line, sizes[2])
    terms.require_range(path, 1, sizes[0])
    terms.refuse(path, terms.rows == terms.columns, "must join two vertices")
    beside = read_map(path)
    has_ground, factor = bool(beside.get("has_ground")), 1 if beside.get("is_halved") else 2
    count = sizes[0] - has_ground
    require_few_silent(path, count, 2 * len(terms.rows))
    low, high = np.minimum(terms.rows, terms.columns) - 1, np.maximum(terms.rows, terms.columns) - 1
    is_ground = high >= count
    to_ground = np.zeros(count, dtype=terms.values.dtype)
    np.add.at(to_ground, low[is_ground], terms.values[is_ground])
    pairs = low[~is_ground], high[~is_ground]
    linear, couplings = _of_cut(*pairs, terms.values[~is_ground], to_ground, factor)
    everyone = np.arange(count)
    return Qubo.of(
        np.concatenate([everyone, pairs[0]]),
        np.concatenate([everyone, pairs[1]]),
        np.concatenate([linear, couplings]),
        variable_count=count,
        offset=beside.get("offset", 0),
        labels=_labels(path, beside, count),
    )


def _of_cut(
    rows: NDArray[Any], columns: NDArray[Any], weights: Any, to_ground: Any, factor: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return linear terms and couplings of minus the cut, times factor / 2."""
    couplings = factor * weights
    twice = -factor * to_ground
    np.subtract.at(twice, rows, couplings)
    np.subtract.at(twice, columns, couplings)
    return twice // 2 if twice.dtype.kind == "i" else twice / 2, couplings


def _row_sums(qubo: Qubo) -> NDArray[Any]:
    sums = np.zeros_like(qubo.linear)
    np.add.at(sums, qubo.rows, qubo.couplings)
    np.add.at(sums, qubo.columns, qubo.couplings)
    return sums


# ---- bqpjson ----


def write_bqpjson(energy: Energy, path: str) -> None:
    """Write version 1.0.0 of the format, with our labels among its metadata."""
    linear, rows, columns, couplings = _parts(energy)
    labels = plain_labels(path, energy.labels)
    head = {
        "version": "1.0.0",
        "id": 0,
        "metadata": {} if isinstance(labels, range) else {"labels": labels},
        "variable_ids": list(range(len(linear))),
        "variable_domain": "boolean" if isinstance(energy, Qubo) else "spin",
        "scale": 1,
        "offset": np.array(energy.offset).item(),
    }
    singles = [f'{{"id": {n}, "coeff": {value!r}}}' for n, value in enumerate(linear.tolist())]
    form = '{"id_tail": %d, "id_head": %d, "coeff": %r}'
    ends = rows.tolist(), columns.tolist(), couplings.tolist()
    pairs = [form % term for term in zip(*ends, strict=True)]
    text = json.dumps(head)[:-1] + ', "linear_terms": [\n' + ",\n".join(singles)
    text += '\n], "quadratic_terms": [\n' + ",\n".join(pairs) + "\n]}\n"
    write_whole(path, text.encode("ascii"))


def read_bqpjson(path: str) -> Qubo:
    """Read a model over bits or spins; its ids are the labels unless ours are there."""
    document = parse_json(path, read_text(path))
    for fault in _faults_of_bqpjson(document):
        raise FileFormatError(f"{path} {fault}")
    ids, scale = document["variable_ids"], document["scale"]
    number_of = {name: number for number, name in enumerate(sorted(ids))}
    singles, pairs = document["linear_terms"], document["quadratic_terms"]
    terms = [(one["id"], one["id"], one["coeff"]) for one in singles]
    terms += [(one["id_tail"], one["id_head"], one["coeff"]) for one in pairs]
    unknown = {name for term in terms for name in term[:2]} - set(number_of)
    if unknown:
        raise FileFormatError(f"{path}: ids of terms must be variable_ids; got {shown(unknown)}")
    first, second, values = zip(*terms, strict=True) if terms else ((), (), ())
    named = document["metadata"].get("labels") if isinstance(document["metadata"], dict) else None
    return _merged(
        np.array([number_of[name] for name in first], dtype=np.int64),
        np.array([number_of[name] for name in second], dtype=np.int64),
        _scaled(np.array(values or [0][:0]), scale),
        len(ids),
        _scaled(np.array(document["offset"]), scale).item(),
        read_labels(path, sorted(ids) if named is None else named, len(ids)),
        is_spin=document["variable_domain"] == "spin",
    )


def _scaled(values: NDArray[Any], scale: float) -> NDArray[Any]:
    return values if scale == 1 else values * scale


def _faults_of_bqpjson(document: Any) -> Iterator[str]:
    kinds = {"variable_ids": list, "linear_terms": list, "quadratic_terms": list}
    names = {*kinds, "variable_domain", "scale", "offset", "metadata"}
    if not isinstance(document, dict) or not names <= document.keys():
        yield f"must be a bqpjson object with {', '.join(sorted(names))}; got {shown(document)}"
    for name, kind in kinds.items():
        if not isinstance(document[name], kind):
            yield f"must have a list {name}; got {shown(document[name])}"
    if document["variable_domain"] not in DOMAINS:
        yield f"must have a domain boolean or spin; got {shown(document['variable_domain'])}"
    for value in (document["scale"], document["offset"]):
        if not is_number(value):
            yield f"must have finite numbers as scale and offset; got {shown(value)}"
    ids = document["variable_ids"]
    if not all(type(one) is int for one in ids) or len(set(ids)) < len(ids):
        yield f"must have different whole numbers as variable_ids; got {shown(ids)}"
    for name, keys in (("linear_terms", {"id"}), ("quadratic_terms", {"id_tail", "id_head"})):
        for term in document[name]:
            is_term = isinstance(term, dict) and (keys | {"coeff"}) <= term.keys()
            if not is_term or not all(type(term[key]) is int for key in keys):
                named = ", ".join(sorted(keys))
                yield f"must have {name} with {named} and coeff; got {shown(term)}"
            if not is_number(term["coeff"]):
                yield f"must have finite numbers of 64 bits as coeff; got {shown(term)}"


# ---- parts ----


def _parts(energy: Energy) -> tuple[NDArray[Any], ...]:
    linear = energy.linear if isinstance(energy, Qubo) else energy.fields
    return linear, energy.rows, energy.columns, energy.couplings


def _positional_lines(
    linear: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], couplings: NDArray[Any]
) -> Iterator[bytes]:
    """Lines without exponents, which dimod skips without a word."""
    everyone, form = np.arange(len(linear)), "%d %d %r\n"
    for one, other, values in ((everyone, everyone, linear), (rows, columns, couplings)):
        if values.dtype.kind == "f":
            texts = [np.format_float_positional(value, trim="0") for value in values.tolist()]
            values, form = np.array(texts, dtype=object), "%d %d %s\n"
        yield from term_lines(one, other, values, form)


def _sizes(path: str, text: bytes, line: int, comment: bytes) -> tuple[list[int], bytes, int]:
    """Return rows, columns and entries of the first line that is no comment, and what follows."""
    while text:
        first, _, text = text.partition(b"\n")
        match = SIZES.fullmatch(first)
        if match:
            rows, columns, entries = match.groups()
            sizes = [int(rows), int(columns or rows), int(entries)]
            if sizes[0] < 2**31:
                return sizes, text, line + 1
        elif not first.strip() or first.lstrip()[:1] in comment:
            line += 1
            continue
        break
    raise FileFormatError(f"{path} must have a line with its numbers of variables and of lines")


def _counted_terms(path: str, text: bytes, line: int, count: int) -> Entries:
    terms = read_terms(path, text, line, b"#%")
    if len(terms.rows) != count:
        raise FileFormatError(
            f"{path} must have {count} lines 'i j value', as it says; got {len(terms.rows)}: "
            "it may be truncated"
        )
    return terms


def _energy(path: str, terms: Entries, first: int, count: int, is_spin: bool = False) -> Qubo:
    """Return the QUBO of terms whose variables are numbered from `first`."""
    terms.require_range(path, first, count)
    require_few_silent(path, count, 2 * len(terms.rows))
    beside = read_map(path)
    offset, labels = beside.get("offset", 0), _labels(path, beside, count)
    rows, columns = terms.rows - first, terms.columns - first
    return _merged(rows, columns, terms.values, count, offset, labels, is_spin=is_spin)


def _merged(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[Any],
    count: int,
    offset: float,
    labels: Any,
    *,
    is_spin: bool,
) -> Qubo:
    terms = {"variable_count": count, "offset": offset, "labels": labels}
    qubo = Qubo.of(rows, columns, values, **terms)
    if not is_spin:
        return qubo
    arrays = qubo.linear.astype(np.float64), qubo.rows, qubo.columns
    return Ising(*arrays, qubo.couplings.astype(np.float64), float(offset), labels).to_qubo()


def _labels(path: str, beside: dict[str, Any], count: int) -> Any:
    labels = beside.get("labels")
    return range(count) if labels is None else read_labels(map_name(path), labels, count)
