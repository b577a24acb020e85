"""Files for other programs: they read the same energies, and we read theirs."""

import gzip
import json
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
import scipy.io
from dimod.serialization import coo
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

from quadratic.small_qubos import EIGHTHS, SMALL, TermList, labelled_qubos, term_lists
from qubonn.errors import FileFormatError
from qubonn.quadratic import Ising, Qubo
from qubonn.quadratic.files import SPIN_WRITERS, load_qubo

EITHER = labelled_qubos() | labelled_qubos(EIGHTHS)
PAIR = Qubo.of([0, 1, 0], [0, 1, 1], [-1, 2, -4], variable_count=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exchanged")


def all_states(count: int) -> Any:
    return np.arange(2**count)[:, None] >> np.arange(count) & 1


# ---- other programs ----


@given(qubo=EITHER)
@settings(max_examples=40)
def test_dimod_reads_the_same_coefficients_from_coo(folder: Path, qubo: Qubo) -> None:
    qubo.save(folder / "p.coo")
    with open(folder / "p.coo") as stream:
        model = coo.load(stream)
    expected = qubo.to_dimod(range(qubo.variable_count))
    expected.offset = 0
    assert model.is_equal(expected)


@pytest.mark.parametrize("value", [1e300, -3e-9, 5e-324, 0.1, 123456789.125])
def test_coo_has_no_exponents_which_dimod_would_skip(tmp_path: Path, value: float) -> None:
    Qubo.of([0], [1], [value], variable_count=2).save(tmp_path / "p.coo")
    with open(tmp_path / "p.coo") as stream:
        assert coo.load(stream).quadratic[0, 1] == value


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
@given(qubo=EITHER)
@settings(max_examples=40)
def test_scipy_reads_the_same_matrix_from_matrix_market(folder: Path, qubo: Qubo) -> None:
    qubo.save(folder / "p.mtx")
    if qubo.variable_count:
        matrix: Any = scipy.io.mmread(folder / "p.mtx")
        assert np.array_equal(matrix.toarray(), qubo.to_scipy().toarray())
        assert (matrix.dtype.kind == "i") == qubo.is_exact


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrices_that_scipy_writes_are_read(tmp_path: Path, symmetry: Any) -> None:
    matrix = np.array([[-3.0, 1.5, 0.0], [1.5, 0.0, -2.25], [0.0, -2.25, 1.0]])
    scipy.io.mmwrite(tmp_path / "p.mtx", coo_array(matrix), symmetry=symmetry, comment="hello")
    assert load_qubo(tmp_path / "p.mtx") == Qubo.from_matrix(matrix)


@given(qubo=labelled_qubos())
@settings(max_examples=30)
def test_dimod_reads_the_same_energies_from_lp(folder: Path, qubo: Qubo) -> None:
    qubo.save(folder / "p.lp")
    text = (folder / "p.lp").read_text()
    if not qubo.variable_count:
        return
    objective = dimod.lp.loads(text).objective
    states, names = all_states(qubo.variable_count), [f"x_{n}" for n in range(qubo.variable_count)]
    names = [name for name in names if name in objective.variables]  # the others are all zero
    columns = [int(name[2:]) for name in names]
    energies = objective.energies((states[:, columns], names))
    difference = energies - qubo.energy(states)
    assert (difference == difference[0]).all()  # dimod writes the offset but does not read it


# ---- Max-Cut ----


@given(plain=term_lists() | term_lists(EIGHTHS))
@settings(max_examples=60)
def test_a_rudy_file_comes_back_and_its_cuts_are_the_energies(
    folder: Path, plain: TermList
) -> None:
    qubo, path = plain.qubo(), folder / "p.rudy"
    qubo.save(path)
    assert load_qubo(path) == qubo
    beside = json.loads((folder / "p.rudy.labels.json").read_text())
    (vertices, _), *edges = [line.split() for line in path.read_text().splitlines()]
    for state in plain.assignments():
        side = [*state, 0][: int(vertices)]
        cut = sum(float(w) for i, j, w in edges if side[int(i) - 1] != side[int(j) - 1])
        assert qubo.energy(state) == qubo.offset - cut / (2 if beside["is_halved"] else 1)


def test_a_graph_alone_is_minus_its_cut(tmp_path: Path) -> None:
    (tmp_path / "g.mc").write_text("3 3\n1 2 1\n2 3 1\n1 3 -2\n")
    qubo = load_qubo(tmp_path / "g.mc")
    assert qubo.energy(all_states(3)).tolist() == [0, 1, -2, 1, 1, -2, 1, 0]
    assert qubo.is_exact


def test_sums_that_floats_cannot_hold_are_not_written_as_a_graph(tmp_path: Path) -> None:
    qubo = Qubo.of([0, 0], [0, 1], [1e-30, 0.7], variable_count=2)
    with pytest.raises(FileFormatError, match="too long here to be exact"):
        qubo.save(tmp_path / "p.rudy")
    assert not list(tmp_path.iterdir())


# ---- spins ----


@pytest.mark.parametrize("suffix", SPIN_WRITERS)
@given(qubo=EITHER)
@settings(max_examples=30)
def test_a_file_of_spins_has_the_energies_of_the_bits(
    folder: Path, suffix: str, qubo: Qubo
) -> None:
    path = folder / f"spins{suffix}"
    qubo.to_ising().save(path)
    if suffix == ".bqm":
        model = dimod.BinaryQuadraticModel.from_file(path.read_bytes())
        assert model.vartype is dimod.SPIN
        back = Qubo.from_dimod(model)
    else:
        back = load_qubo(path)
    assert list(back.labels) == list(qubo.labels)
    states = all_states(qubo.variable_count)
    assert np.array_equal(back.energy(states), qubo.energy(states))
    assert np.array_equal(Ising.of(back).couplings, qubo.to_ising().couplings)


def test_dimod_reads_coo_of_spins(tmp_path: Path) -> None:
    SMALL.to_ising().save(tmp_path / "p.coo")
    with open(tmp_path / "p.coo") as stream:
        model = coo.load(stream)
    expected = SMALL.to_ising().to_dimod(range(3))
    expected.offset = 0
    assert model.is_equal(expected)


# ---- bqpjson ----

EXAMPLE = {
    "description": "a simple model",
    "id": 0,
    "linear_terms": [{"coeff": 1.25, "id": 2}, {"coeff": -0.75, "id": 6}],
    "metadata": {},
    "offset": 0.5,
    "quadratic_terms": [
        {"coeff": -0.25, "id_head": 4, "id_tail": 2},
        {"coeff": 1.5, "id_head": 6, "id_tail": 2},
    ],
    "scale": 2.0,
    "variable_domain": "spin",
    "variable_ids": [2, 4, 6],
    "version": "1.0.0",
}


def test_a_model_of_another_program_is_read_with_its_scale_and_ids(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(EXAMPLE))
    qubo = load_qubo(tmp_path / "p.json")
    assert list(qubo.labels) == [2, 4, 6]
    for a, b, c in 2 * all_states(3) - 1:
        expected = 2 * (0.5 + 1.25 * a - 0.75 * c - 0.25 * a * b + 1.5 * a * c)
        assert qubo.energy([(a + 1) // 2, (b + 1) // 2, (c + 1) // 2]) == expected


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"scale": None}, "scale and offset"),
        ({"offset": True}, "scale and offset"),
        ({"variable_domain": "bool"}, "domain boolean or spin"),
        ({"variable_ids": [2, 4, 4]}, "different whole numbers"),
        ({"variable_ids": [2, 4]}, "ids of terms must be variable_ids"),
        ({"linear_terms": {}}, "a list linear_terms"),
        ({"linear_terms": [{"id": 2}]}, "linear_terms with id and coeff"),
        ({"quadratic_terms": [{"id_tail": 2, "id_head": "4", "coeff": 1}]}, "id_head, id_tail"),
        ({"linear_terms": [{"id": 2, "coeff": 10**30}]}, "64 bits as coeff"),
        ({"metadata": {"labels": ["a"]}}, "labels must be a list of 3"),
    ],
)
def test_other_json_is_refused_with_what_is_wrong(
    tmp_path: Path, changes: dict[str, Any], complaint: str
) -> None:
    (tmp_path / "p.json").write_text(json.dumps(EXAMPLE | changes))
    with pytest.raises(FileFormatError, match=rf"p\.json.*{complaint}"):
        load_qubo(tmp_path / "p.json")


# ---- text of others ----


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("p.coo", "0 0 1\n", "must have a line '# vartype=BINARY'"),
        ("p.coo", "# vartype=BINARY\n# vartype=SPIN\n", "must have a line"),
        ("p.coo", "# vartype=BINARY\n-1 0 1\n", r"line 2 must have variable numbers in 0\.\."),
        ("p.coo", "# vartype=BINARY\n0 99999999 1\n", "must mention its variables"),
        ("p.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n", "coo_array"),
        ("p.mtx", "%%MatrixMarket matrix coordinate real general\n%\n2 3 0\n", "square matrix"),
        ("p.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "2 lines"),
        ("p.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n", r"in 1\.\.2"),
        ("p.mtx", "%%MatrixMarket matrix coordinate real general\n99999999 99999999 0\n", "ment"),
        ("p.rudy", "2\n1 2 1\n", "numbers of variables and of lines"),
        ("p.rudy", "2 1\n1 1 1\n", "must join two vertices"),
        ("p.rudy", "2 1\n1 3 1\n", r"in 1\.\.2"),
        ("p.rudy", "2147483647 0\n", "must mention its variables"),
    ],
)
def test_other_text_is_refused_with_what_is_wrong(
    tmp_path: Path, name: str, text: str, complaint: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=rf"{name}.*{complaint}"):
        load_qubo(tmp_path / name)


@pytest.mark.parametrize("document", ["[]", '{"format": "x"}', '{"format": "qubonn-labels-1"}'])
def test_a_map_of_another_kind_is_refused(tmp_path: Path, document: str) -> None:
    PAIR.save(tmp_path / "p.coo")
    (tmp_path / "p.coo.labels.json").write_text(document)
    with pytest.raises(FileFormatError, match=r"p\.coo\.labels\.json must hold the labels"):
        load_qubo(tmp_path / "p.coo")


def test_without_its_map_a_file_has_numbers_as_labels_and_no_offset(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "p.mtx")
    (tmp_path / "p.mtx.labels.json").unlink()
    back = load_qubo(tmp_path / "p.mtx")
    assert (back.labels, back.offset) == (range(3), 0)
    assert np.array_equal(back.couplings, SMALL.couplings)


def test_gzipped_text_is_read(tmp_path: Path) -> None:
    PAIR.save(tmp_path / "p.qubo")
    packed = gzip.compress((tmp_path / "p.qubo").read_bytes())
    (tmp_path / "p.qubo.gz").write_bytes(packed)
    assert load_qubo(tmp_path / "p.qubo.gz") == PAIR
    (tmp_path / "g.rudy.gz").write_bytes(gzip.compress(b"2 1\n1 2 3\n"))
    assert load_qubo(tmp_path / "g.rudy.gz").energy([1, 0]) == -3


@given(lines=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), EIGHTHS), max_size=9))
@settings(max_examples=30)
def test_terms_of_coo_may_repeat_and_come_in_any_order(
    folder: Path, lines: list[tuple[int, int, float]]
) -> None:
    text = "".join(f"{i} {j} {value}\n" for i, j, value in lines)
    (folder / "any.coo").write_text("# vartype=BINARY\n" + text)
    count = max((max(i, j) for i, j, _ in lines), default=-1) + 1
    back = load_qubo(folder / "any.coo")
    assert np.array_equal(back.linear, TermList(count, lines, 0).qubo().linear)
    assert np.array_equal(back.couplings, TermList(count, lines, 0).qubo().couplings)
