import numpy as np
import pytest
from hypothesis import given

from quadratic.small_qubos import EIGHTHS, TermList, term_lists
from qubonn.errors import AlphabetError, ShapeError
from qubonn.quadratic import Ising, Qubo


@given(term_lists() | term_lists(EIGHTHS))
def test_spins_have_the_energy_of_their_bits(written: TermList) -> None:
    ising = written.qubo().to_ising()
    for bits in written.assignments():
        assert ising.energy(2 * np.array(bits, dtype=int) - 1) == written.energy(bits)


@given(term_lists() | term_lists(EIGHTHS))
def test_a_batch_has_the_energies_of_its_rows(written: TermList) -> None:
    ising = written.qubo().to_ising()
    batch = 2 * np.array(list(written.assignments()), dtype=int) - 1
    assert ising.energy(batch).tolist() == [ising.energy(spins) for spins in batch]


@given(term_lists())
def test_there_and_back_gives_the_same_whole_qubo(written: TermList) -> None:
    qubo = written.qubo()
    assert qubo.to_ising().to_qubo() == qubo


@given(term_lists(EIGHTHS))
def test_there_and_back_keeps_every_energy(written: TermList) -> None:
    back = written.qubo().to_ising().to_qubo()
    for bits in written.assignments():
        assert back.energy(bits) == written.energy(bits)


def test_labels_stay() -> None:
    qubo = Qubo.of([0], [1], [1], variable_count=2, labels=["a", ("b", 1)])
    assert qubo.to_ising().labels == ["a", ("b", 1)]
    assert qubo.to_ising().to_qubo().labels == ["a", ("b", 1)]


def test_whole_fields_beyond_63_bits_stay_floats() -> None:
    none = np.zeros(0, dtype=np.int32)
    ising = Ising(np.array([1e300]), none, none, np.zeros(0), 0.0, range(1))
    assert ising.to_qubo().linear.tolist() == [2e300]


def test_bits_in_place_of_spins_are_refused_with_a_hint() -> None:
    ising = Qubo.of([0], [1], [1], variable_count=2).to_ising()
    with pytest.raises(
        AlphabetError, match=r"spins must be -1 or \+1; got 0.*turn bits into spins"
    ):
        ising.energy([1, 0])


def test_every_variable_needs_a_spin() -> None:
    ising = Qubo.of([0], [1], [1], variable_count=2).to_ising()
    with pytest.raises(ShapeError, match="spins must have 2 values, one per variable"):
        ising.energy([1])
