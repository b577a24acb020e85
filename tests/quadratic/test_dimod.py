import dimod
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadratic.small_qubos import EIGHTHS, TermList, labelled_qubos, term_lists
from qubonn.quadratic import Qubo


@given(term_lists() | term_lists(EIGHTHS))
def test_dimod_computes_the_same_energies(written: TermList) -> None:
    qubo = written.qubo()
    model = qubo.to_dimod()
    for bits in written.assignments():
        assert model.energy(dict(zip(qubo.labels, bits, strict=True))) == written.energy(bits)


@given(term_lists() | term_lists(EIGHTHS))
def test_a_spin_model_comes_back_with_the_same_energies(written: TermList) -> None:
    spins = written.qubo().to_dimod().change_vartype(dimod.SPIN, inplace=False)
    qubo = Qubo.from_dimod(spins)
    for bits in written.assignments():
        assert qubo.energy(bits) == written.energy(bits)


@given(term_lists())
def test_dimod_and_we_agree_on_the_ising_form(written: TermList) -> None:
    ours = written.qubo().to_ising()
    theirs = written.qubo().to_dimod().spin
    assert dict(enumerate(ours.fields)) == dict(theirs.linear)
    assert ours.offset == theirs.offset
    pairs = zip(ours.rows.tolist(), ours.columns.tolist(), strict=True)
    assert dict(zip(map(frozenset, pairs), ours.couplings, strict=True)) == {
        frozenset(pair): value for pair, value in theirs.quadratic.items()
    }


@given(labelled_qubos())
def test_there_and_back_gives_the_same_whole_qubo(qubo: Qubo) -> None:
    assert Qubo.from_dimod(qubo.to_dimod()) == qubo


@given(st.permutations(range(4)))
def test_labels_that_permute_the_numbers_stay_in_their_order(labels: list[int]) -> None:
    qubo = Qubo.of([0, 0], [0, 3], [5, 7], variable_count=4, labels=labels)
    model = qubo.to_dimod()
    assert list(model.variables) == labels
    assert model.linear[labels[0]] == 5
    assert model.quadratic[labels[0], labels[3]] == 7


@pytest.mark.parametrize("value", [1e300, 2.0**63, -(2.0**63)])
def test_whole_numbers_beyond_63_bits_stay_floats(value: float) -> None:
    model = dimod.BinaryQuadraticModel({"a": value}, {}, 0.0, dimod.BINARY)
    assert Qubo.from_dimod(model).linear.tolist() == [value]


def test_models_of_python_numbers_and_of_float32_are_read() -> None:
    for dtype in (object, np.float32):
        model = dimod.BinaryQuadraticModel({"a": 1}, {("a", "b"): 2}, 3, "BINARY", dtype=dtype)
        assert Qubo.from_dimod(model).energy([1, 1]) == 6
