import json
import math
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quadratic.small_qubos import EIGHTHS, WHOLE, labelled_qubos
from qubonn.errors import FileFormatError
from qubonn.quadratic import Qubo, qbsolv_file, qbsolv_terms
from qubonn.quadratic.canonical import require_canonical
from qubonn.quadratic.files import SUFFIXES, load_qubo, save_qubo

EVERY_FORMAT = pytest.mark.parametrize("suffix", SUFFIXES)
EXACT_IN_FLOAT = st.integers(-(2**49), 2**49)  # even sums of a dozen are
ANY_FLOAT = st.floats(-1e300, 1e300)
WHOLE_FLOAT = WHOLE.map(float)
EVERY_KIND = (
    labelled_qubos(EXACT_IN_FLOAT)
    | labelled_qubos(ANY_FLOAT)
    | labelled_qubos(EIGHTHS)
    | labelled_qubos(WHOLE_FLOAT)
)

SMALL = Qubo.of(
    [0, 0, 1, 2],
    [0, 1, 2, 2],
    [-3, 2, 7, 1],
    variable_count=3,
    offset=5,
    labels=[("weight", 0), ("activation", 1, 2), "bias"],
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
        one, other = sorted(tmp_path.iterdir())
        assert one.read_bytes() == other.read_bytes()

    def test_is_found_by_a_suffix_in_capitals(self, tmp_path: Path, suffix: str) -> None:
        path = str(tmp_path / f"FILE{suffix.upper()}")
        SMALL.save(path)
        assert Qubo.load(path) == SMALL


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    for path in (tmp_path / "p.txt", tmp_path / "p"):
        with pytest.raises(FileFormatError, match=r"must end in \.npz, \.qubo, \.json or \.bqm"):
            save_qubo(SMALL, path)
        with pytest.raises(FileFormatError, match=r"must end in \.npz, \.qubo, \.json or \.bqm"):
            load_qubo(path)


@pytest.mark.parametrize("suffix", [".npz", ".qubo", ".json"])
def test_whole_numbers_of_up_to_62_bits_come_back_exactly(tmp_path: Path, suffix: str) -> None:
    qubo = Qubo.of([0, 0], [0, 1], [2**60 + 1, -(2**61) - 1], variable_count=2, offset=2**59 + 1)
    save_qubo(qubo, tmp_path / f"file{suffix}")
    assert load_qubo(tmp_path / f"file{suffix}") == qubo


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
            ({"linear": np.zeros(3)}, "offset must be of the type of linear"),
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
            ({"offset": np.array(5.0)}, "offset must be of the type of linear"),
            ({"labels": np.array("[]")}, "array labels of 1 axes"),
            ({"labels": np.array([1, 2])}, "labels must be uint8"),
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


class TestQbsolv:
    def test_the_text_is_as_documented(self, tmp_path: Path) -> None:
        save_qubo(SMALL, tmp_path / "file.qubo")
        assert (tmp_path / "file.qubo").read_text() == (
            "c qubonn qubo 1\n"
            "c offset : 5\n"
            'c label 0 ["weight", 0]\n'
            'c label 1 ["activation", 1, 2]\n'
            'c label 2 "bias"\n'
            "p qubo 0 3 3 2\n"
            "0 0 -3\n1 1 0\n2 2 1\n"
            "0 1 2\n1 2 7\n"
        )

    def test_a_file_of_another_program_is_read(self, tmp_path: Path) -> None:
        text = (
            "c\nc offset : 100\nc label 0 17\n\nC made elsewhere\r\n"
            "P  qubo unconstrained  5   2 3\r\n"
            " 1   3\t+4.5 \nc couplers before nodes\n0 1 -2e0\n\n  2 3 .5\n"
            "4 4 1\n 0 0  -1."
        )
        (tmp_path / "file.qubo").write_text(text)
        qubo = load_qubo(tmp_path / "file.qubo")
        assert qubo == Qubo.of(
            [1, 0, 2, 4, 0], [3, 1, 3, 4, 0], [4.5, -2, 0.5, 1, -1.0], variable_count=5
        )

    def test_whole_numbers_of_another_program_are_int64_and_zero_couplers_are_dropped(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "file.qubo").write_text("p qubo 0 3 1 2\n0 0 7\n0 1 0\n1 2 -3\n")
        qubo = load_qubo(tmp_path / "file.qubo")
        assert qubo.is_exact
        assert qubo.couplings.tolist() == [-3]

    def test_whole_numbers_beyond_64_bits_become_floats(self, tmp_path: Path) -> None:
        (tmp_path / "file.qubo").write_text(f"p qubo 0 1 1 0\n0 0 {10**30}\n")
        assert load_qubo(tmp_path / "file.qubo").linear.tolist() == [1e30]

    def test_a_comment_put_above_loses_nothing(self, tmp_path: Path) -> None:
        save_qubo(SMALL, tmp_path / "file.qubo")
        text = (tmp_path / "file.qubo").read_text()
        (tmp_path / "file.qubo").write_text("c my problem\n" + text)
        assert load_qubo(tmp_path / "file.qubo") == SMALL

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("", "must have a line 'p qubo 0 maxNodes nNodes nCouplers'; got none"),
            ("c only\n", "must have a line 'p qubo"),
            ("0 0 1\np qubo 0 1 1 0\n", "line 1 must be 'p qubo 0 .*; got '0 0 1'"),
            ("c\np qubo 0 1 1\n", "line 2 must be 'p qubo 0"),
            ("p ising 0 1 1 0\n", "line 1 must be 'p qubo 0"),
            ("p qubo chimera128 1 1 0\n", "line 1 must be 'p qubo 0"),
            ("p qubo 0 1 -1 0\n", "line 1 must have three counts"),
            ("p qubo 0 1 1.0 0\n", "line 1 must have three counts"),
            (f"p qubo 0 {2**31} 0 0\n", r"line 1 must have fewer than 2\*\*31 nodes"),
            (f"p qubo 0 {'9' * 5000} 0 0\n", "line 1 must have three counts"),
            (f"p qubo 0 {2**31 - 1} 1 0\n0 0 1\n", "must mention its variables"),
            ("p qubo 0 2 1 0\n0 0 1\n1 1 1\n", "must have 1 lines 'i i value', .*; got 2"),
            ("p qubo 0 2 2 1\n0 0 1\n1 1 1\n", "must have 1 lines 'i j value', .*; got 0"),
            ("p qubo 0 1 1 0\nc\n0 0\n", "line 3 must be two variable numbers and a value"),
            ("p qubo 0 1 1 0\n\n0 0 1 1\n", "line 3 must be two variable numbers and a value"),
            ("p qubo 0 1 2 0\n0 0\n0 0 1 1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 1_0\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 0x1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0.0 1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 1;\n", "line 2 must be two variable numbers"),
            (f"p qubo 0 1 1 0\n{2**64} 0 1\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\np qubo 0 1 1 0\n", "line 2 must be two variable numbers"),
            ("p qubo 0 1 1 0\n0 0 nan\n", "line 2 must have a finite value; got '0 0 nan'"),
            ("p qubo 0 1 1 0\n0 0 1e999\n", "line 2 must have a finite value"),
            (f"p qubo 0 1 1 0\n0 0 {'9' * 5000}\n", "line 2 must have a finite value"),
            ("p qubo 0 2 0 1\nc\nc\n0 2 1\n", r"line 4 must have variable numbers in 0\.\.1"),
            ("p qubo 0 2 0 1\n-1 1 1\n", r"line 2 must have variable numbers in 0\.\.1"),
            ("p qubo 0 2 0 1\n1 0 1\n", "line 2 must have its smaller variable number first"),
            ("p qubo 0 2 0 2\n0 1 1\nc\n0 1 1\n", "line 4 must not repeat a pair"),
            ("p qubo 0 2 2 0\n1 1 1\n1 1 1\n", "line 3 must not repeat a pair"),
            ("p qubo 0 1 1 1\n0 0 1\n0 1 1\n", r"line 3 must have variable numbers in 0\.\.0"),
            (f"p qubo 0 1 2 0\n0 0 {2**62}\n0 0 {2**62}\n", "line 3 must not repeat a pair"),
            (f"p qubo 0 2 2 0\n0 0 {2**62}\n1 1 {2**62}\n", r"less than 2\*\*63"),
            ("p qubo 0 2 2 0\n0 0 1.7e308\n1 1 1.7e308\n", "finite sums"),
            ("c qubonn qubo 2\nc offset : 0\np qubo 0 0 0 0\n", "line 1 must end in version 1"),
            ("c qubonn qubo 1\np qubo 0 0 0 0\n", "must have a line 'c offset : ...'"),
            ("c qubonn qubo 1\nc offset : nan\np qubo 0 0 0 0\n", "line 2 must have a finite"),
            ("c qubonn qubo 1\nc offset : 1_0\np qubo 0 0 0 0\n", "line 2 must have a finite"),
            (f"c qubonn qubo 1\nc offset : {'9' * 5000}\np qubo 0 0 0 0\n", "line 2 must have a"),
        ],
    )
    def test_other_text_is_refused_with_the_line(
        self, tmp_path: Path, text: str, complaint: str
    ) -> None:
        (tmp_path / "file.qubo").write_text(text)
        with pytest.raises(FileFormatError, match=rf"file\.qubo.*{complaint}"):
            load_qubo(tmp_path / "file.qubo")

    @pytest.mark.parametrize(
        ("labels", "complaint"),
        [
            ("c label 1 0\nc label 0 1\n", "line 3 must be the label of variable 0, .* in order"),
            ("c label 0 0\nc label 0 1\n", "line 4 must be the label of variable 1"),
            ("c label 0 0\n", "labels must be a list of 2, one a variable; got 1"),
            ("c label 0 5\nc label 1 5\n", "variables 0 and 1 are both 5"),
            ("c label 0 [\nc label 1 5\n", "line 3 must be strict JSON"),
            ("c label 0\nc label 1 5\n", "line 3 must be strict JSON"),
            ("c label 0 true\nc label 1 5\n", "label 0 must be made of"),
        ],
    )
    def test_our_labels_must_be_one_a_variable(
        self, tmp_path: Path, labels: str, complaint: str
    ) -> None:
        start = "c qubonn qubo 1\nc offset : 0\n"
        (tmp_path / "file.qubo").write_text(f"{start}{labels}p qubo 0 2 2 0\n0 0 1\n1 1 1\n")
        with pytest.raises(FileFormatError, match=rf"file\.qubo.*{complaint}"):
            load_qubo(tmp_path / "file.qubo")

    def test_a_header_cannot_ask_for_much_memory(self, tmp_path: Path) -> None:
        (tmp_path / "file.qubo").write_text(f"p qubo 0 {2**31 - 1} 0 0\n")
        tracemalloc.start()
        with pytest.raises(FileFormatError, match="must mention its variables"):
            load_qubo(tmp_path / "file.qubo")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 20

    def test_blocks_are_cut_at_line_ends_and_lines_are_counted_across_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(qbsolv_terms, "BYTES_AT_ONCE", 20)
        monkeypatch.setattr(qbsolv_file, "LINES_AT_ONCE", 7)
        qubo = Qubo.of(range(50), range(50), range(50), variable_count=50, offset=1)
        save_qubo(qubo, tmp_path / "file.qubo")
        assert load_qubo(tmp_path / "file.qubo") == qubo
        text = (tmp_path / "file.qubo").read_text().replace("\n47 47 47", "\n47 47 x")
        (tmp_path / "file.qubo").write_text(text)
        with pytest.raises(FileFormatError, match=r"line 51 must be two .* got '47 47 x'"):
            load_qubo(tmp_path / "file.qubo")
        (tmp_path / "file.qubo").write_text(text.replace("\n47 47 x", "\n47 47 nan"))
        with pytest.raises(FileFormatError, match="line 51 must have a finite value"):
            load_qubo(tmp_path / "file.qubo")


class TestJson:
    def document(self) -> dict[str, Any]:
        return {
            "format": "qubonn-qubo",
            "version": 1,
            "offset": 5,
            "variables": [{"label": "a", "linear": 1}, {"label": ["b", 0], "linear": -2}],
            "couplings": [[0, 1, 3]],
        }

    def test_the_text_is_as_documented(self, tmp_path: Path) -> None:
        save_qubo(SMALL, tmp_path / "file.json")
        assert (tmp_path / "file.json").read_text() == (
            '{\n"format": "qubonn-qubo",\n"version": 1,\n"offset": 5,\n"variables": [\n'
            '{"label": ["weight", 0], "linear": -3},\n'
            '{"label": ["activation", 1, 2], "linear": 0},\n'
            '{"label": "bias", "linear": 1}\n'
            '],\n"couplings": [\n[0, 1, 2],\n[1, 2, 7]\n]\n}\n'
        )

    def test_what_a_person_wrote_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "file.json").write_text(json.dumps(self.document(), indent=3))
        assert load_qubo(tmp_path / "file.json") == Qubo.of(
            [0, 1, 0], [0, 1, 1], [1, -2, 3], variable_count=2, offset=5, labels=["a", ("b", 0)]
        )

    def test_couplings_may_come_in_any_order_and_one_float_makes_all_floats(
        self, tmp_path: Path
    ) -> None:
        document = {
            **self.document(),
            "variables": [{"label": label, "linear": 0} for label in "abc"],
            "couplings": [[1, 2, 2.5], [0, 2, 1], [0, 1, 0]],
        }
        (tmp_path / "file.json").write_text(json.dumps(document))
        qubo = load_qubo(tmp_path / "file.json")
        assert qubo == Qubo.of(
            [1, 0], [2, 2], [2.5, 1], variable_count=3, offset=5, labels=["a", "b", "c"]
        )

    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"format": "other"}, 'must be an object with "format": "qubonn-qubo"'),
            ({"version": 2}, "must have version 1; got 2: a newer qubonn"),
            ({"version": None}, "must have version 1; got None"),
            ({"extra": 0}, "must have exactly the keys format, version, offset, variables"),
            ({"offset": "5"}, "offset must be a number; got '5'"),
            ({"offset": True}, "offset must be a number; got True"),
            ({"offset": 2**63}, "whole numbers must lie within 64 bits"),
            ({"variables": {}}, "variables must be a list"),
            ({"variables": [[]]}, r"variables\[0\] must be"),
            ({"variables": [{"label": 0}]}, r"variables\[0\] must be"),
            ({"variables": [{"label": 0, "linear": None}]}, r"variables\[0\] must be"),
            ({"variables": [{"label": 0, "linear": 0, "x": 0}]}, r"variables\[0\] must be"),
            ({"variables": [{"label": 0, "linear": 0}] * 2}, "variables 0 and 1 are both 0"),
            ({"variables": [{"label": {}, "linear": 0}], "couplings": []}, "label 0 must be made"),
            ({"couplings": None}, "couplings must be a list; got None"),
            ({"couplings": [[0, 1]]}, r"couplings\[0\] must be \[row, column, number\]"),
            ({"couplings": [[0, 1, 1], [0, 1, "x"]]}, r"couplings\[1\] must be"),
            ({"couplings": [[0, 1, 1], [0, 1, 1]]}, r"couplings\[1\] repeats the pair 0, 1"),
            ({"couplings": [[1, 0, 1]]}, "must be .* with 0 <= row < column < 2"),
            ({"couplings": [[0, 0, 1]]}, "with 0 <= row < column"),
            ({"couplings": [[0, 2, 1]]}, "with 0 <= row < column < 2"),
            ({"couplings": [[-1, 1, 1]]}, "with 0 <= row < column"),
            ({"couplings": [[0.0, 1, 1]]}, "with 0 <= row < column"),
            ({"couplings": [[False, True, 1]]}, "with 0 <= row < column"),
            ({"couplings": [[0, 1, 10**400]]}, "whole numbers must lie within 64 bits"),
            ({"couplings": [[0, 1, 10**400]], "offset": 0.5}, "must lie within 64 bits"),
            ({"couplings": [[0, 1, 2**62]], "offset": 2**62}, r"less than 2\*\*63"),
            ({"couplings": [[0, 1, math.nan]]}, "must be strict JSON; got the constant NaN"),
            ({"offset": -math.inf}, "must be strict JSON; got the constant -Infinity"),
        ],
    )
    def test_other_documents_are_refused(
        self, tmp_path: Path, changes: dict[str, Any], complaint: str
    ) -> None:
        (tmp_path / "file.json").write_text(json.dumps({**self.document(), **changes}))
        with pytest.raises(FileFormatError, match=rf"file\.json.*{complaint}"):
            load_qubo(tmp_path / "file.json")

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("[]", "must be an object"),
            ('{"format": "qubonn-qubo",\n "version" 1}', "strict JSON; line 2, column 12"),
            ('{"format": 1, "format": 1}', "each key once"),
            ("[" * 100_000, "strict JSON"),
            ('{"format": "qubonn-qubo", "version": ' + "[" * 900 + "]" * 900 + "}", "version 1"),
        ],
    )
    def test_other_text_is_refused(self, tmp_path: Path, text: str, complaint: str) -> None:
        (tmp_path / "file.json").write_text(text)
        with pytest.raises(FileFormatError, match=rf"file\.json.*{complaint}"):
            load_qubo(tmp_path / "file.json")

    def test_numbers_too_large_for_a_float_are_refused(self, tmp_path: Path) -> None:
        text = json.dumps(self.document()).replace("[0, 1, 3]", "[0, 1, 3e999]")
        (tmp_path / "file.json").write_text(text)
        with pytest.raises(FileFormatError, match=r"file\.json: values and offset must be finite"):
            load_qubo(tmp_path / "file.json")


class TestBqm:
    @given(qubo=labelled_qubos(EXACT_IN_FLOAT) | labelled_qubos(WHOLE_FLOAT))
    @settings(max_examples=40)
    def test_dimod_reads_what_we_write(self, folder: Path, qubo: Qubo) -> None:
        save_qubo(qubo, folder / "ours.bqm")
        model = dimod.BinaryQuadraticModel.from_file((folder / "ours.bqm").read_bytes())
        assert model.is_equal(qubo.to_dimod())
        assert list(model.variables) == list(qubo.labels)

    @pytest.mark.parametrize("version", [1, 2])
    @pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @given(qubo=labelled_qubos(EIGHTHS))
    @settings(max_examples=15)
    def test_we_read_what_dimod_writes(
        self, folder: Path, version: int, vartype: Any, dtype: type, qubo: Qubo
    ) -> None:
        model = dimod.BinaryQuadraticModel(
            qubo.to_dimod().change_vartype(vartype, inplace=False), dtype=dtype
        )
        with model.to_file(version=version) as stream:
            (folder / "theirs.bqm").write_bytes(stream.read())
        assert load_qubo(folder / "theirs.bqm") == Qubo.from_dimod(model)

    def test_whole_numbers_that_floats_cannot_hold_are_refused_before_writing(
        self, tmp_path: Path
    ) -> None:
        for value in (2**53 + 1, 2**63 - 1):
            qubo = Qubo(np.array([value]), *SMALL_ARRAYS[1:], 0, range(1))
            with pytest.raises(
                FileFormatError, match=r"use \.npz, \.qubo or \.json|int64 can hold"
            ):
                save_qubo(qubo, tmp_path / "file.bqm")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            (b"DIMODBQM", b"DIMODCQM", "must begin with DIMODBQM"),
            (b"DIMODBQM\x02", b"DIMODBQM\x03", r"must have version 1\.0 or 2\.0; got 3\.0"),
            (b'"float64"', b'"object" ', "its header must name shape, dtype"),
            (b'"itype": "int32"', b'"itype": "int16"', "its header must name shape, dtype"),
            (b'"BINARY"', b'"BINARI"', "its header must name shape, dtype"),
            (b'"shape": [3, 2]', b'"shape": [3, 9]', "bytes of biases .* truncated"),
            (b'"shape": [3, 2]', b'"shape": [3,-1]', "its shape must be two counts"),
            (b'"shape": [3, 2]', b'"shape": [1.,2]', "must be strict JSON"),
            (b'"shape": [3, 2]', b'"shape": "3 2" ', "its header must name shape"),
            (b'"variables": true', b'"variables": 1   ', "variables must be true or false"),
            (b"VARS", b"VERS", "labels must begin with VARS"),
            (b'"bias"', b"[]    ", ""),
            (b'"bias"', b"null  ", "label 2 must be made of"),
            (b'"dtype"', b'"dtipe"', "its header must name shape"),
        ],
    )
    def test_other_bytes_are_refused(
        self, tmp_path: Path, old: bytes, new: bytes, complaint: str
    ) -> None:
        save_qubo(SMALL, tmp_path / "file.bqm")
        data = (tmp_path / "file.bqm").read_bytes()
        assert old in data
        (tmp_path / "file.bqm").write_bytes(data.replace(old, new))
        if complaint:
            with pytest.raises(FileFormatError, match=rf"file\.bqm.*{complaint}"):
                load_qubo(tmp_path / "file.bqm")
        else:
            assert list(load_qubo(tmp_path / "file.bqm").labels)[2] == ()

    @pytest.mark.parametrize(
        ("place", "number", "complaint"),
        [
            (("start", 0), 1, "neighbourhoods must follow each other without a gap"),
            (("start", 1), 4, "neighbourhoods must follow each other without a gap"),
            (("start", 2), 2**31 - 1, "neighbourhoods must follow each other without a gap"),
            (("start", 2), -1, "neighbourhoods must follow each other without a gap"),
            (("end", 0), -(2**31), r"neighbours must lie in 0\.\.2"),
            (("end", 3), 3, r"neighbours must lie in 0\.\.2"),
            (("end", 0), 0, "neighbours must stand once each"),
            (("end", 2), 0, "neighbours must stand once each"),
            (("end", 0), 2, "both ends of an edge must list it"),
            (("bias", 0), 9, "both ends of an edge must list it, with one finite bias"),
            (("bias", 0), math.nan, "both ends of an edge must list it, with one finite bias"),
            (("linear", 0), math.nan, "must be finite"),
            (("offset", 0), math.inf, "must be finite"),
        ],
    )
    def test_hostile_numbers_are_refused(
        self, tmp_path: Path, place: tuple[str, int], number: float, complaint: str
    ) -> None:
        save_qubo(SMALL, tmp_path / "file.bqm")
        data = bytearray((tmp_path / "file.bqm").read_bytes())
        name, index = place
        body = 14 + int.from_bytes(data[10:14], "little")
        node, arc = [("start", "<i4"), ("linear", "<f8")], [("end", "<i4"), ("bias", "<f8")]
        parts: dict[str, Any] = {"offset": np.frombuffer(data, "<f8", 1, body)}
        nodes = np.frombuffer(data, node, 3, body + 8)
        arcs = np.frombuffer(data, arc, 4, body + 8 + 36)
        parts |= {name: nodes[name] for name in ("start", "linear")}
        parts |= {name: arcs[name] for name in ("end", "bias")}
        parts[name][index] = number
        (tmp_path / "file.bqm").write_bytes(data)
        with pytest.raises(FileFormatError, match=rf"file\.bqm.*{complaint}"):
            load_qubo(tmp_path / "file.bqm")

    def test_bytes_behind_the_end_are_refused(self, tmp_path: Path) -> None:
        save_qubo(SMALL, tmp_path / "file.bqm")
        with open(tmp_path / "file.bqm", "ab") as stream:
            stream.write(b"more")
        with pytest.raises(FileFormatError, match="must end after the model; got 4 bytes more"):
            load_qubo(tmp_path / "file.bqm")

    def test_spin_biases_whose_sums_overflow_are_refused(self, tmp_path: Path) -> None:
        model = dimod.BinaryQuadraticModel({}, {("a", "b"): 1e308}, 0.0, "SPIN")
        with model.to_file() as stream:
            (tmp_path / "file.bqm").write_bytes(stream.read())
        with pytest.raises(FileFormatError, match=r"file\.bqm: values and offset must be finite"):
            load_qubo(tmp_path / "file.bqm")


NO_COUPLING: np.ndarray[Any, np.dtype[np.int32]] = np.zeros(0, dtype=np.int32)
SMALL_ARRAYS = (np.ones(1, dtype=np.int64), NO_COUPLING, NO_COUPLING, np.zeros(0, dtype=np.int64))


class Lazy(Sequence[Any]):
    """Labels that exist only while somebody looks at them."""

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
