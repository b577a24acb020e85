"""Samples: best first, and every way of writing them in a file gives the same states."""

import json
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qubonn.errors import AlphabetError, EnergiesDiffer, FileFormatError, RangeError, ShapeError
from qubonn.quadratic import Qubo, Samples
from qubonn.stopping import Stop

SMALL = Qubo.of([0, 1, 0], [0, 1, 1], [-1, 2, -4], variable_count=2)
LABELS = [("weight", 0), ("bias", 3), "third", 7]
QUBO = Qubo.of([0, 1, 2, 0], [1, 1, 3, 2], [2, -3, 4, -1], variable_count=4, labels=LABELS)
BITS = np.array([[0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0]], dtype=np.int8)


def test_states_come_best_first_and_equal_ones_keep_their_order() -> None:
    samples = Samples.of(SMALL, [[0, 1], [1, 0], [1, 1], [0, 0], [1, 0]])
    assert samples.bits.tolist() == [[1, 1], [1, 0], [1, 0], [0, 0], [0, 1]]
    assert samples.energies.tolist() == [-3, -1, -1, 0, 2]
    assert samples.best.tolist() == [1, 1]
    assert samples.best_energy == -3


def test_distinct_and_lowest_keep_the_order_and_why_the_run_ended() -> None:
    samples = Samples.of(SMALL, [[1, 0], [0, 0], [1, 0]], stop=Stop.TARGET, info={"sweeps": 3})
    assert samples.distinct().bits.tolist() == [[1, 0], [0, 0]]
    assert samples.lowest(2).bits.tolist() == [[1, 0], [1, 0]]
    assert len(samples.lowest(9)) == 3
    for part in (samples.distinct(), samples.lowest(1)):
        assert (part.stop, part.info) == (Stop.TARGET, {"sweeps": 3})
    with pytest.raises(RangeError, match="count must be at least 1; got 0"):
        samples.lowest(0)


def test_a_single_state_is_one_row_and_others_are_refused() -> None:
    assert Samples.of(SMALL, [1, 1]).bits.shape == (1, 2)
    with pytest.raises(ShapeError, match="states must have 2 values"):
        Samples.of(SMALL, np.zeros((1, 3)))
    with pytest.raises(AlphabetError, match="states must be 0 or 1"):
        Samples.of(SMALL, [[1, -1]])


def test_the_text_says_how_many_and_how_good() -> None:
    assert repr(Samples.of(SMALL, [[1, 1]])) == "Samples(1 states, best energy -3, FINISHED)"


# ---- files ----


def states(path: Path) -> list[list[int]]:
    return sorted(Samples.load(path, QUBO).bits.tolist())


def expected() -> list[list[int]]:
    return sorted(BITS.tolist())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("samples")


def test_energies_are_computed_anew_and_best_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("0,1,2,3,energy\n1,1,1,0,-99\n0,1,0,1,5\n")
    with pytest.warns(EnergiesDiffer):
        samples = Samples.load(path, QUBO)
    assert samples.energies.tolist() == [QUBO.energy([0, 1, 0, 1]), QUBO.energy([1, 1, 1, 0])]
    assert samples.best.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "head",
    [
        None,
        "0,1,2,3",
        '"[""weight"", 0]","[""bias"", 3]","""third""",7',
        "\"('weight', 0)\",\"('bias', 3)\",third,7",
    ],
)
@pytest.mark.parametrize("has_spins", [False, True])
def test_csv_is_read_with_every_kind_of_header(
    tmp_path: Path, head: str | None, has_spins: bool
) -> None:
    values = 2 * BITS - 1 if has_spins else BITS
    lines = [",".join(map(str, row)) for row in values.tolist()]
    (tmp_path / "s.csv").write_text("\n".join(([] if head is None else [head]) + lines) + "\n")
    assert states(tmp_path / "s.csv") == expected()


def test_columns_may_come_in_any_order_with_others_between(tmp_path: Path) -> None:
    rows = [",".join(map(str, [9, *row[[3, 1, 0, 2]], QUBO.energy(row)])) for row in BITS]
    (tmp_path / "s.csv").write_text("\n".join([",3,1,0,2,energy", *rows]))
    assert states(tmp_path / "s.csv") == expected()


@pytest.mark.parametrize("name", ["bits", "samples", "states", "whatever"])
def test_npz_and_npy_are_read(tmp_path: Path, name: str) -> None:
    arrays: dict[str, Any] = {name: BITS}
    np.savez(tmp_path / "s.npz", **arrays)
    np.save(tmp_path / "s.npy", 2.0 * BITS - 1)
    assert states(tmp_path / "s.npz") == states(tmp_path / "s.npy") == expected()


@pytest.mark.parametrize(
    "document",
    [
        BITS.tolist(),
        (2 * BITS - 1).tolist(),
        (BITS == 1).tolist(),
        (2.0 * BITS - 1).tolist(),
        {"samples": BITS.tolist(), "info": {}},
        [{str(n): int(row[n]) for n in (2, 0, 1, 3)} for row in BITS],
        [{json.dumps(label): int(row[n]) for n, label in enumerate(LABELS)} for row in BITS],
    ],
)
def test_json_is_read_as_lists_and_as_objects(tmp_path: Path, document: Any) -> None:
    (tmp_path / "s.json").write_text(json.dumps(document))
    assert states(tmp_path / "s.json") == expected()


@given(
    bits=st.integers(1, 70).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=4
        )
    ),
    pack=st.booleans(),
    vartype=st.sampled_from(["BINARY", "SPIN"]),
)
@settings(max_examples=50)
def test_what_dimod_serialises_is_read_back(
    folder: Path, bits: list[list[int]], pack: bool, vartype: str
) -> None:
    count = len(bits[0])
    qubo = Qubo.of([0], [0], [1], variable_count=count, labels=[("v", n) for n in range(count)])
    values = np.array(bits) if vartype == "BINARY" else 2 * np.array(bits) - 1
    found = dimod.SampleSet.from_samples(
        (values[:, ::-1], list(qubo.labels)[::-1]), vartype, energy=np.array(bits)[:, 0]
    )
    path = folder / "set.json"
    path.write_text(json.dumps(found.to_serializable(pack_samples=pack)))
    assert sorted(Samples.load(path, qubo).bits.tolist()) == sorted(bits)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.csv", "0,1,2\n1,1,1\n", "have a value for each of 4 variables; 1 are missing"),
        ("s.csv", "1,0,1\n", "4 values, one per variable; got 3"),
        ("s.csv", "1,0,1,1\n0,-1,1,1\n", "-1 elsewhere"),
        ("s.csv", "1,0,1,1\n0,2,1,1\n", "something else in sample 2, variable 1"),
        ("s.csv", "0,1,2,3,0\n1,0,1,1,1\n", "variable 0 must have one column"),
        ("s.csv", "0,1,2,3\n", "a row each"),
        ("s.json", "[]", "must be a list of samples"),
        ("s.json", "[[0,1,0,1],[0]]", "sample 2 must be a list of 4 numbers"),
        ("s.json", "[[0,1,0,3]]", "got 3"),
        ("s.json", "[[0,1,0,0.5]]", "got 0.5"),
        ("s.json", '[[0,1,0,"1"]]', "sample 1 must be a list of 4 numbers"),
        ("s.json", "[[0,1,0,[1]]]", "sample 1 must be a list of 4 numbers"),
        ("s.json", "[[0,1,0,1%s]]" % ("0" * 40), "samples must hold 0 and 1"),
        ("s.json", '[{"0": 1}, {"1": 1}]', "same variables as the first"),
        ("s.json", '{"type": "SampleSet"}', "variable_labels and sample_data"),
        ("s.json", "{", "strict JSON"),
        ("s.txt.zip", "", "must end in .csv"),
        ("s.npy", "not numpy", "no pickle"),
    ],
)
def test_what_is_wrong_gets_one_sentence_with_the_name(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=words) as caught:
        Samples.load(tmp_path / name, QUBO)
    assert name in str(caught.value)


def test_a_sample_set_with_words_of_the_wrong_size_is_refused(tmp_path: Path) -> None:
    found = dimod.SampleSet.from_samples((BITS, list(LABELS)), "BINARY", energy=0)
    document = found.to_serializable()
    document["sample_data"]["data"][1] = [1 << 40]
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="samples must be words of 32 bits"):
        Samples.load(tmp_path / "s.json", QUBO)


def test_an_archive_of_several_unknown_arrays_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", a=BITS, b=BITS)
    with pytest.raises(FileFormatError, match="an array named bits"):
        Samples.load(tmp_path / "s.npz", QUBO)
