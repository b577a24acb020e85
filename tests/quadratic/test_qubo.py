from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import qubonn as qn
from quadratic.small_qubos import EIGHTHS, TermList, term_lists
from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.quadratic import Ising, Qubo, Samples, as_qubo
from qubonn.quadratic.files import require_canonical


@given(term_lists() | term_lists(EIGHTHS))
def test_merged_terms_have_the_energy_of_the_list(written: TermList) -> None:
    qubo = written.qubo()
    for bits in written.assignments():
        assert qubo.energy(bits) == written.energy(bits)


@given(term_lists() | term_lists(EIGHTHS))
def test_a_batch_has_the_energies_of_its_rows(written: TermList) -> None:
    qubo, batch = written.qubo(), np.array(list(written.assignments()))
    assert qubo.energy(batch).tolist() == [qubo.energy(bits) for bits in batch]


@given(term_lists() | term_lists(EIGHTHS))
def test_couplings_stand_once_each_in_order_and_are_not_zero(written: TermList) -> None:
    qubo = written.qubo()
    assert require_canonical("qubo", qubo) is qubo


@given(term_lists() | term_lists(EIGHTHS))
def test_merging_does_not_depend_on_how_crowded_the_variables_are(written: TermList) -> None:
    crowded = written.qubo()
    sparse = TermList(1000, written.terms, written.offset).qubo()
    assert sparse.linear[: crowded.variable_count].tolist() == crowded.linear.tolist()
    assert sparse.rows.tolist() == crowded.rows.tolist()
    assert sparse.columns.tolist() == crowded.columns.tolist()
    assert sparse.couplings.tolist() == crowded.couplings.tolist()


@given(term_lists() | term_lists(EIGHTHS))
def test_neighbour_lists_describe_the_same_energy(written: TermList) -> None:
    qubo = written.qubo()
    linear, starts, columns, couplings = qubo.neighbour_lists()
    for bits in written.assignments():
        twice_pairs = sum(
            couplings[place] * bits[variable] * bits[columns[place]]
            for variable in range(len(bits))
            for place in range(starts[variable], starts[variable + 1])
        )
        alone = sum(value * bit for value, bit in zip(linear, bits, strict=True))
        assert qubo.offset + alone + twice_pairs / 2 == qubo.energy(bits)


@given(term_lists())
def test_neighbours_come_in_increasing_order_without_repeats(written: TermList) -> None:
    _, starts, columns, _ = written.qubo().neighbour_lists()
    for variable in range(written.variable_count):
        neighbours = columns[starts[variable] : starts[variable + 1]].tolist()
        assert neighbours == sorted(set(neighbours))
        assert variable not in neighbours


@given(term_lists())
def test_whole_terms_stay_whole(written: TermList) -> None:
    qubo = written.qubo()
    assert qubo.is_exact
    assert qubo.linear.dtype == qubo.couplings.dtype == np.int64
    assert qubo.neighbour_lists()[3].dtype == np.int64
    assert type(qubo.energy([0] * qubo.variable_count)) is int
    assert qubo.energy(np.zeros((2, qubo.variable_count))).dtype == np.int64


def test_a_whole_offset_of_type_float_leaves_whole_terms_whole() -> None:
    assert Qubo.of([0], [0], [3], variable_count=1, offset=2.0).is_exact


def test_a_fractional_offset_makes_all_coefficients_floats() -> None:
    qubo = Qubo.of([0], [0], [3], variable_count=1, offset=0.5)
    assert qubo.linear.dtype == np.float64
    assert qubo.energy([1]) == 3.5


def test_terms_that_cancel_leave_no_coupling() -> None:
    assert Qubo.of([0, 1], [1, 0], [3, -3], variable_count=2).coupling_count == 0


def test_a_qubo_without_variables_has_the_energy_of_its_offset() -> None:
    qubo = Qubo.of([], [], [], variable_count=0, offset=7)
    assert qubo.energy([]) == 7
    assert qubo.energy(np.zeros((2, 0))).tolist() == [7, 7]


def test_energies_up_to_63_bits_are_exact() -> None:
    qubo = Qubo.of([0, 0], [0, 1], [2**61, 2**61 + 1], variable_count=2, offset=3)
    assert qubo.energy([1, 1]) == 2**62 + 4
    assert qubo.energy([[1, 1]]).tolist() == [2**62 + 4]


def test_whole_sums_beyond_63_bits_are_refused() -> None:
    with pytest.raises(RangeError, match=r"must sum to less than 2\*\*63 .* as floats"):
        Qubo.of([0, 0], [1, 1], [2**62, 2**62], variable_count=2)


@pytest.mark.parametrize("offset", [1e300, 2**63])
def test_an_offset_beyond_63_bits_makes_all_coefficients_floats(offset: float) -> None:
    qubo = Qubo.of([0], [0], [3], variable_count=1, offset=offset)
    assert qubo.linear.dtype == np.float64
    assert qubo.energy([0]) == offset


def test_float_sums_beyond_float64_are_refused() -> None:
    with pytest.raises(RangeError, match="must have finite sums"):
        Qubo.of([0, 0], [1, 1], [1.7e308, 1.7e308], variable_count=2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_and_offset_must_be_finite(bad: float) -> None:
    with pytest.raises(AlphabetError, match="must be finite"):
        Qubo.of([0], [0], [bad], variable_count=1)
    with pytest.raises(AlphabetError, match="must be finite"):
        Qubo.of([0], [0], [1], variable_count=1, offset=bad)


@pytest.mark.parametrize("row", [-1, 2])
def test_variable_numbers_must_lie_in_range(row: int) -> None:
    with pytest.raises(RangeError, match=r"rows must be variable numbers in 0\.\.1; got"):
        Qubo.of([row], [0], [1], variable_count=2)


def test_variable_numbers_must_be_whole() -> None:
    with pytest.raises(RangeError, match="columns must be variable numbers; got float64"):
        Qubo.of([0], [0.0], [1], variable_count=2)
    with pytest.raises(RangeError, match="rows must be variable numbers; got <U1"):
        Qubo.of(["a"], [0], [1], variable_count=2)


def test_values_must_be_numbers() -> None:
    with pytest.raises(AlphabetError, match="values must be numbers; got <U1"):
        Qubo.of([0], [0], ["a"], variable_count=1)


def test_every_term_needs_two_variables_and_a_value() -> None:
    with pytest.raises(ShapeError, match="one entry per term"):
        Qubo.of([0, 1], [0, 1], [1], variable_count=2)
    with pytest.raises(ShapeError, match="must be vectors"):
        Qubo.of([[0]], [[1]], [[1]], variable_count=2)


def test_every_variable_needs_a_label() -> None:
    with pytest.raises(ShapeError, match="labels must have 2 entries, one per variable; got 1"):
        Qubo.of([0], [1], [1], variable_count=2, labels=["a"])


def test_spins_in_place_of_bits_are_refused_with_a_hint() -> None:
    with pytest.raises(AlphabetError, match=r"bits must be 0 or 1; got -1.*; turn spins into bits"):
        Qubo.of([0], [1], [1], variable_count=2).energy([1, -1])


def test_coefficients_cannot_be_changed() -> None:
    qubo = Qubo.of([0], [1], [1], variable_count=2)
    with pytest.raises(ValueError, match="read-only"):
        qubo.couplings[0] = 5


@pytest.mark.parametrize(
    "other",
    [
        Qubo.of([0], [1], [2], variable_count=2, offset=1),
        Qubo.of([0], [1], [2], variable_count=3),
        Qubo.of([0], [1], [3], variable_count=2),
        Qubo.of([0], [1], [2.0], variable_count=2),
        Qubo.of([0], [1], [2], variable_count=2, labels="ab"),
        "not a qubo",
    ],
)
def test_qubos_differ_if_any_part_differs(other: object) -> None:
    assert Qubo.of([0], [1], [2], variable_count=2) != other


def test_equal_qubos_are_equal_and_hash_alike() -> None:
    one = Qubo.of([0, 1], [1, 0], [1, 1], variable_count=2)
    other = Qubo.of([0], [1], [2], variable_count=2, labels=[0, 1])
    assert one == other
    assert hash(one) == hash(other)


class TestIsing:
    @given(term_lists() | term_lists(EIGHTHS))
    def test_spins_have_the_energy_of_their_bits(self, written: TermList) -> None:
        ising = written.qubo().to_ising()
        for bits in written.assignments():
            assert ising.energy(2 * np.array(bits, dtype=int) - 1) == written.energy(bits)

    @given(term_lists() | term_lists(EIGHTHS))
    def test_a_batch_has_the_energies_of_its_rows(self, written: TermList) -> None:
        ising = written.qubo().to_ising()
        batch = 2 * np.array(list(written.assignments()), dtype=int) - 1
        assert ising.energy(batch).tolist() == [ising.energy(spins) for spins in batch]

    @given(term_lists())
    def test_there_and_back_gives_the_same_whole_qubo(self, written: TermList) -> None:
        qubo = written.qubo()
        assert qubo.to_ising().to_qubo() == qubo

    @given(term_lists(EIGHTHS))
    def test_there_and_back_keeps_every_energy(self, written: TermList) -> None:
        back = written.qubo().to_ising().to_qubo()
        for bits in written.assignments():
            assert back.energy(bits) == written.energy(bits)

    def test_labels_stay(self) -> None:
        qubo = Qubo.of([0], [1], [1], variable_count=2, labels=["a", ("b", 1)])
        assert qubo.to_ising().labels == ["a", ("b", 1)]
        assert qubo.to_ising().to_qubo().labels == ["a", ("b", 1)]

    def test_whole_fields_beyond_63_bits_stay_floats(self) -> None:
        none = np.zeros(0, dtype=np.int32)
        ising = Ising(np.array([1e300]), none, none, np.zeros(0), 0.0, range(1))
        assert ising.to_qubo().linear.tolist() == [2e300]

    def test_bits_in_place_of_spins_are_refused_with_a_hint(self) -> None:
        ising = Qubo.of([0], [1], [1], variable_count=2).to_ising()
        with pytest.raises(
            AlphabetError, match=r"spins must be -1 or \+1; got 0.*turn bits into spins"
        ):
            ising.energy([1, 0])

    def test_every_variable_needs_a_spin(self) -> None:
        ising = Qubo.of([0], [1], [1], variable_count=2).to_ising()
        with pytest.raises(ShapeError, match="spins must have 2 values, one per variable"):
            ising.energy([1])


# ---- other forms ----


@given(plain=term_lists() | term_lists(EIGHTHS))
def test_matrices_and_dicts_hold_the_same_energy(plain: TermList) -> None:
    qubo = plain.qubo()
    forms = (qubo.to_scipy(), qubo.to_scipy().toarray(), qubo.to_scipy().tocoo())
    for matrix in forms:
        back = Qubo.from_matrix(matrix, offset=qubo.offset)
        assert np.array_equal(back.linear, qubo.linear)
        assert np.array_equal(back.couplings, qubo.couplings)
    assert Qubo.from_dict(qubo.to_dict(), offset=qubo.offset) == qubo


def test_both_triangles_of_a_matrix_count() -> None:
    assert Qubo.from_matrix([[1, 2], [3, 4]]).to_dict() == {(0, 0): 1, (1, 1): 4, (0, 1): 5}
    with pytest.raises(ShapeError, match=r"matrix must be square.*got shape \(1, 2\)"):
        Qubo.from_matrix([[1, 2]])


def test_names_of_a_dict_become_labels_in_their_order() -> None:
    qubo = Qubo.from_dict({("b", "a"): 1.5, (("c", 1), "b"): 2})
    assert list(qubo.labels) == ["b", "a", ("c", 1)]
    assert Qubo.from_dict({(1, 0): 2, (2, 2): 1}).labels == range(3)
    assert Qubo.from_dict({}).variable_count == 0


@pytest.mark.parametrize(
    "form",
    [
        lambda qubo: qubo,
        lambda qubo: qubo.to_ising(),
        lambda qubo: qubo.to_dimod(),
        lambda qubo: qubo.to_ising().to_dimod(),
        lambda qubo: qubo.to_dict(),
        lambda qubo: qubo.to_scipy(),
        lambda qubo: qubo.to_scipy().toarray(),
        lambda qubo: qubo.to_scipy().toarray().tolist(),
    ],
)
def test_every_form_is_accepted_as_a_qubo(form: Callable[[Qubo], Any]) -> None:
    qubo = Qubo.of([0, 0], [0, 1], [-3, 2], variable_count=2)
    assert as_qubo(form(qubo)) == qubo
    assert Samples.of(form(qubo), [1, 0]).best_energy == -3


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("p.qubo", r"got str: read a file with Qubo\.load"),
        (qn.TrainingProblem(qn.Topology.dense(1, 1), [[1]], [[1]]), r"problem\.qubo\(\)"),
        ({"a": 1}, "got dict"),
        (3, "got int"),
    ],
)
def test_other_objects_are_refused_with_what_to_call(other: Any, said: str) -> None:
    with pytest.raises(RangeError, match=f"a QUBO must be a Qubo, an Ising, .*{said}"):
        as_qubo(other)
