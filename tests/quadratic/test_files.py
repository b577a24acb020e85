import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quadratic.small_qubos import EIGHTHS, SMALL, WHOLE, labelled_qubos
from qubonn.errors import FileFormatError
from qubonn.quadratic import Qubo
from qubonn.quadratic.files import READERS, load_qubo, require_canonical, save_qubo

GRAPHS = (".rudy", ".mc")  # hold sums of coefficients; see test_exchange_files
EVERY_FORMAT = pytest.mark.parametrize("suffix", [one for one in READERS if one not in GRAPHS])
EXACT_IN_FLOAT = st.integers(-(2**49), 2**49)  # even sums of a dozen are
ANY_FLOAT = st.floats(-1e300, 1e300)
WHOLE_FLOAT = WHOLE.map(float)
EVERY_KIND = (
    labelled_qubos(EXACT_IN_FLOAT)
    | labelled_qubos(ANY_FLOAT)
    | labelled_qubos(EIGHTHS)
    | labelled_qubos(WHOLE_FLOAT)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("qubos")


@EVERY_FORMAT
class TestEveryFormat:
    @given(qubo=EVERY_KIND)
    @settings(max_examples=50)
    def test_gives_back_the_same_qubo(self, folder: Path, suffix: str, qubo: Qubo) -> None:
        path = folder / f"same{suffix}"
        save_qubo(qubo, path)
        back = load_qubo(path)
        assert back == qubo
        assert back.linear.dtype == qubo.linear.dtype
        assert type(back.offset) is type(qubo.offset)

    @given(data=st.data())
    @settings(max_examples=100)
    def test_damaged_gives_a_sound_qubo_or_one_error_with_the_name(
        self, folder: Path, suffix: str, data: st.DataObject
    ) -> None:
        path = folder / f"damaged{suffix}"
        damaged = bytearray(small_file(folder, suffix))
        for _ in range(data.draw(st.integers(0, 3))):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(
                st.integers(0, 7)
            )
        path.write_bytes(damaged[: data.draw(st.none() | st.integers(0, len(damaged)))])
        assert_sound_or_refused(path)

    @given(data=st.data())
    @settings(max_examples=60)
    def test_with_pieces_moved_gives_a_sound_qubo_or_one_error_with_the_name(
        self, folder: Path, suffix: str, data: st.DataObject
    ) -> None:
        path, whole = folder / f"moved{suffix}", small_file(folder, suffix)
        places = st.integers(0, len(whole))
        start, end, to = data.draw(places), data.draw(places), data.draw(places)
        path.write_bytes(whole[:to] + whole[start:end] + whole[to:])
        assert_sound_or_refused(path)

    @given(noise=st.binary(max_size=60))
    @settings(max_examples=30)
    def test_of_noise_is_refused(self, folder: Path, suffix: str, noise: bytes) -> None:
        path = folder / f"noise{suffix}"
        path.write_bytes(noise)
        with pytest.raises(FileFormatError, match=r"noise\."):
            load_qubo(path)

    @pytest.mark.parametrize(
        "labels",
        [
            range(3),
            range(5, 8),
            [0, 1, 2],
            "abc",
            [np.int64(7), np.str_("seven"), (np.int32(1), ("deep", ()))],
            ["\ud800", "\n", 'c "\u2028'],
        ],
    )
    def test_gives_back_equal_labels(
        self, tmp_path: Path, suffix: str, labels: Sequence[Any]
    ) -> None:
        path = tmp_path / f"labels{suffix}"
        save_qubo(Qubo.of([0], [1], [1], variable_count=3, labels=labels), path)
        assert list(load_qubo(path).labels) == list(labels)

    def test_takes_labels_that_are_made_when_asked_for(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"lazy{suffix}"
        save_qubo(Qubo.of([0], [1], [1], variable_count=3, labels=Lazy()), path)
        assert list(load_qubo(path).labels) == [("weight", 0), ("weight", 1), ("weight", 2)]

    @pytest.mark.parametrize(
        "label", [0.5, None, True, frozenset(), b"x", 2**63, (10**5000,), ("deep", (0.5,))]
    )
    def test_refuses_labels_it_cannot_hold_before_writing(
        self, tmp_path: Path, suffix: str, label: Any
    ) -> None:
        path = tmp_path / f"file{suffix}"
        path.write_bytes(b"old")
        with pytest.raises(FileFormatError, match="label 1 must be made of text, whole numbers"):
            save_qubo(Qubo.of([0], [1], [1], variable_count=2, labels=[0, label]), path)
        assert path.read_bytes() == b"old"

    def test_refuses_tuples_too_deep_to_read(self, tmp_path: Path, suffix: str) -> None:
        label: tuple[Any, ...] = ()
        for _ in range(5000):
            label = (label,)
        qubo = Qubo(*SMALL_ARRAYS, 5, OneLabel(label))
        with pytest.raises(FileFormatError, match="at most 20 deep"):
            save_qubo(qubo, tmp_path / f"file{suffix}")

    def test_refuses_labels_that_repeat(self, tmp_path: Path, suffix: str) -> None:
        qubo = Qubo.of([0], [1], [1], variable_count=3, labels=["a", "b", "a"])
        with pytest.raises(FileFormatError, match="variables 0 and 2 are both 'a'"):
            save_qubo(qubo, tmp_path / f"file{suffix}")

    def test_refuses_a_qubo_that_breaks_its_promises(self, tmp_path: Path, suffix: str) -> None:
        one = np.ones(1, dtype=np.int32)
        qubo = Qubo(np.zeros(2), one, one, np.ones(1), 0.0, range(2))
        with pytest.raises(FileFormatError, match="row < column < 2; coupling 0 has row 1"):
            save_qubo(qubo, tmp_path / f"file{suffix}")
        assert list(tmp_path.iterdir()) == []

    def test_takes_a_qubo_without_variables(self, tmp_path: Path, suffix: str) -> None:
        qubo = Qubo.of([], [], [], variable_count=0, offset=0.5)
        save_qubo(qubo, tmp_path / f"file{suffix}")
        assert load_qubo(tmp_path / f"file{suffix}") == qubo

    def test_lets_the_system_say_that_there_is_no_file(self, tmp_path: Path, suffix: str) -> None:
        with pytest.raises(FileNotFoundError):
            load_qubo(tmp_path / f"file{suffix}")

    def test_is_written_as_the_same_bytes_each_time(self, tmp_path: Path, suffix: str) -> None:
        for name in ("one", "other"):
            save_qubo(SMALL, tmp_path / f"{name}{suffix}")
        one, other = (tmp_path / f"{name}{suffix}" for name in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()

    def test_is_found_by_a_suffix_in_capitals(self, tmp_path: Path, suffix: str) -> None:
        path = str(tmp_path / f"FILE{suffix.upper()}")
        SMALL.save(path)
        assert Qubo.load(path) == SMALL


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    for path in (tmp_path / "p.txt", tmp_path / "p", tmp_path / "p.jso"):
        with pytest.raises(FileFormatError, match=r"must end in \.npz, \.qubo, .*or \.bqm"):
            save_qubo(SMALL, path)
        with pytest.raises(FileFormatError, match=r"must end in \.npz, \.qubo, .*or \.mc"):
            load_qubo(path)
        with pytest.raises(FileFormatError, match=r"must end in \.coo, \.json or \.bqm"):
            SMALL.to_ising().save(path)


@EVERY_FORMAT
def test_whole_numbers_of_up_to_62_bits_come_back_exactly(tmp_path: Path, suffix: str) -> None:
    qubo = Qubo.of([0, 0], [0, 1], [2**60 + 1, -(2**61) - 1], variable_count=2, offset=2**59 + 1)
    save_qubo(qubo, tmp_path / f"file{suffix}")
    assert load_qubo(tmp_path / f"file{suffix}") == qubo


class TestBqm:
    @given(qubo=labelled_qubos(EXACT_IN_FLOAT) | labelled_qubos(WHOLE_FLOAT))
    @settings(max_examples=40)
    def test_dimod_reads_what_we_write(self, folder: Path, qubo: Qubo) -> None:
        save_qubo(qubo, folder / "ours.bqm")
        model = dimod.BinaryQuadraticModel.from_file((folder / "ours.bqm").read_bytes())
        assert model.is_equal(qubo.to_dimod())
        assert list(model.variables) == list(qubo.labels)
        assert Qubo.from_dimod(model) == Qubo.from_dimod(qubo.to_dimod())

    def test_whole_numbers_that_floats_cannot_hold_are_refused_before_writing(
        self, tmp_path: Path
    ) -> None:
        for value in (2**53 + 1, 2**63 - 1):
            qubo = Qubo(np.array([value]), *SMALL_ARRAYS[1:], 0, range(1))
            with pytest.raises(FileFormatError, match=r"use \.npz or \.qubo|int64 can hold"):
                save_qubo(qubo, tmp_path / "file.bqm")
        assert list(tmp_path.iterdir()) == []

    def test_labels_that_no_file_can_hold_are_refused_before_writing(self, tmp_path: Path) -> None:
        qubo = Qubo.of([0], [1], [1], variable_count=2, labels=[0, frozenset()])
        with pytest.raises(FileFormatError, match="label 1 must be made of text"):
            save_qubo(qubo, tmp_path / "file.bqm")
        assert list(tmp_path.iterdir()) == []

    def test_reading_is_left_to_dimod(self, tmp_path: Path) -> None:
        SMALL.save(tmp_path / "file.bqm")
        with pytest.raises(FileFormatError, match=r"file\.bqm must be read by dimod: Qubo.from_d"):
            Qubo.load(tmp_path / "file.bqm")


NO_COUPLING: np.ndarray[Any, np.dtype[np.int32]] = np.zeros(0, dtype=np.int32)
SMALL_ARRAYS = (np.ones(1, dtype=np.int64), NO_COUPLING, NO_COUPLING, np.zeros(0, dtype=np.int64))


class Lazy(Sequence[Any]):
    """Labels that are created when they are read."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < 3:
            raise IndexError(number)
        return ("weight", number)


class OneLabel(Lazy):
    """One label of any kind, hashable or not."""

    def __init__(self, label: object) -> None:
        self.label = label

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter([self.label])


def small_file(folder: Path, suffix: str) -> bytes:
    path = folder / f"small{suffix}"
    if not path.exists():
        save_qubo(SMALL, path)
    return path.read_bytes()


def assert_sound_or_refused(path: Path, load: Callable[[Path], Qubo] = load_qubo) -> None:
    try:
        qubo = load(path)
    except FileFormatError as error:
        assert str(path) in str(error)  # noqa: PT017 - either outcome is right
    else:
        require_canonical("qubo", qubo)
        assert np.isfinite(qubo.energy(np.ones(qubo.variable_count)))
        assert len(set(qubo.labels)) == qubo.variable_count


class TestNpz:
    def arrays(self, folder: Path) -> dict[str, Any]:
        save_qubo(SMALL, folder / "file.npz")
        with np.load(folder / "file.npz") as archive:
            return dict(archive)

    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"format": np.array("other")}, "must be a QUBO archive"),
            ({"format": np.zeros((50, 50))}, "must be a QUBO archive"),
            ({"format": None}, "must be a QUBO archive"),
            ({"version": np.array(2)}, "must have version 1; got array.*newer qubonn"),
            ({"version": np.array("1")}, "must have version 1"),
            ({"version": np.array([1, 1])}, "must have version 1"),
            ({"version": None}, "must have version 1"),
            ({"linear": None}, "must have an array linear of 1 axes; got none"),
            ({"linear": np.zeros((3, 1), dtype=int)}, "array linear of 1 axes; got"),
            ({"linear": np.zeros(3)}, "offset of the type of linear"),
            (
                {"linear": np.zeros(3, np.int32), "offset": np.int32(0)},
                "both int64 or both float64",
            ),
            ({"couplings": np.ones(2)}, "both int64 or both float64; got int64 and float64"),
            ({"couplings": np.array([2, 0])}, "must not be zero; coupling 1 is"),
            ({"couplings": np.array([2])}, "one entry per coupling"),
            ({"couplings": np.array([2**62, 2**62])}, "energies that int64 can hold"),
            ({"rows": np.array([0, 1])}, "rows and columns must be int32; got int64"),
            ({"rows": np.array([-1, 1], np.int32)}, "0 <= row < column < 3; coupling 0 has row -1"),
            ({"rows": np.array([0, 2], np.int32)}, "coupling 1 has row 2 and column 2"),
            ({"columns": np.array([1, 3], np.int32)}, "coupling 1 has row 1 and column 3"),
            ({"rows": np.array([1, 0], np.int32), "columns": np.array([2, 1], np.int32)}, "sorted"),
            ({"rows": np.array([0, 0], np.int32), "columns": np.array([1, 1], np.int32)}, "once"),
            ({"offset": np.array([5])}, "array offset of 0 axes; got"),
            ({"offset": np.array(5.0)}, "offset of the type of linear"),
            ({"labels": np.array("[]")}, "array labels of 1 axes"),
            ({"labels": np.array([1, 2])}, "labels of uint8"),
            ({"labels": b'["a", "b"]'}, "labels must be a list of 3, one a variable; got 2"),
            ({"labels": b'{"a": 1}'}, "labels must be a list of 3, one a variable; got dict"),
            ({"labels": b'["a", "b", "a"]'}, "variables 0 and 2 are both 'a'"),
            ({"labels": b'["a", "b", 0.5]'}, r"label 2 must be made of .*; got 0\.5"),
            ({"labels": b'["a", "b", NaN]'}, "must be strict JSON; got the constant NaN"),
            ({"labels": b'["a", "b"'}, "labels must be strict JSON; line 1, column 10"),
            ({"labels": b"[" * 100_000}, "must be strict JSON"),
            ({"labels": b'["a", "b", ' + b"[" * 500 + b"]" * 500 + b"]"}, "at most 20 deep"),
            ({"labels": b'["a", "b", \xff]'}, "must be strict JSON"),
            ({"labels": b'["a", "b", ' + b"9" * 5000 + b"]"}, "must be strict JSON"),
        ],
    )
    def test_a_file_must_be_as_we_write_it(
        self, tmp_path: Path, changes: dict[str, Any], complaint: str
    ) -> None:
        arrays: dict[str, Any] = {
            name: np.frombuffer(array, np.uint8) if isinstance(array, bytes) else array
            for name, array in {**self.arrays(tmp_path), **changes}.items()
            if array is not None
        }
        np.savez(tmp_path / "file.npz", **arrays)
        with pytest.raises(FileFormatError, match=rf"file\.npz.*{complaint}"):
            load_qubo(tmp_path / "file.npz")

    @pytest.mark.parametrize("bad", [math.nan, math.inf])
    @pytest.mark.parametrize("part", ["linear", "couplings", "offset"])
    def test_floats_must_be_finite(self, tmp_path: Path, part: str, bad: float) -> None:
        arrays = {
            name: array.astype(float) if name in ("linear", "couplings", "offset") else array
            for name, array in self.arrays(tmp_path).items()
        }
        arrays[part][...] = bad
        np.savez(tmp_path / "file.npz", **arrays)
        with pytest.raises(FileFormatError, match=r"file\.npz: "):
            load_qubo(tmp_path / "file.npz")

    def test_default_labels_cost_nothing(self, tmp_path: Path) -> None:
        save_qubo(Qubo.of([0], [1], [1], variable_count=9), tmp_path / "file.npz")
        with np.load(tmp_path / "file.npz") as archive:
            assert archive["labels"].tobytes() == b"null"
