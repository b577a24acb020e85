"""Answers of machines, as they write them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest

from qubonn.errors import EnergiesDiffer, FileFormatError, ShapeError
from qubonn.quadratic import Qubo, Samples

QUBO = Qubo.of([0, 1, 2, 0], [1, 1, 2, 2], [2, -3, 4, -1], variable_count=3, offset=10)
BITS = np.array([[0, 1, 0], [1, 1, 1], [0, 0, 1]])
ENERGIES = QUBO.energy(BITS)


def loaded(path: Path) -> list[list[int]]:
    return sorted(Samples.load(path, QUBO).bits.tolist())


@pytest.mark.parametrize("form", ["%.18e", "%d", "%g"])
@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
@pytest.mark.parametrize("has_spins", [False, True])
def test_what_savetxt_writes_is_read(
    tmp_path: Path, form: str, delimiter: str, has_spins: bool
) -> None:
    values = 2 * BITS - 1 if has_spins else BITS
    np.savetxt(tmp_path / "s.txt", values, fmt=form, delimiter=delimiter)
    assert loaded(tmp_path / "s.txt") == sorted(BITS.tolist())


def test_strings_of_bits_are_read(tmp_path: Path) -> None:
    strings = ["".join(map(str, row)) for row in BITS]
    (tmp_path / "s.txt").write_text("\n".join(strings))
    (tmp_path / "s.json").write_text(json.dumps(strings))
    assert loaded(tmp_path / "s.txt") == loaded(tmp_path / "s.json") == sorted(BITS.tolist())


def digital_annealer(energies: Any) -> dict[str, Any]:
    solutions = [
        {"energy": energy, "frequency": 1, "configuration": {str(n): bool(b) for n, b in row}}
        for energy, row in zip(energies, map(enumerate, BITS), strict=True)
    ]
    solution = {"progress": [], "result_status": True, "solutions": solutions, "timing": {}}
    return {"qubo_solution": solution, "status": "Done"}


def amplify(energies: Any) -> dict[str, Any]:
    spins = (2 * BITS - 1).tolist()
    return {"spins": spins, "energies": list(energies), "feasibilities": [True] * 3, "timing": {}}


@pytest.mark.parametrize("service", [digital_annealer, amplify])
@pytest.mark.parametrize("offset", [0, 10])
def test_answers_of_services_are_read_with_or_without_the_offset(
    tmp_path: Path, service: Any, offset: int
) -> None:
    (tmp_path / "s.json").write_text(json.dumps(service((ENERGIES - offset).tolist())))
    assert loaded(tmp_path / "s.json") == sorted(BITS.tolist())


@pytest.mark.parametrize("service", [digital_annealer, amplify])
def test_energies_of_another_problem_are_noticed(tmp_path: Path, service: Any) -> None:
    (tmp_path / "s.json").write_text(json.dumps(service([-5, *ENERGIES.tolist()[1:]])))
    with pytest.warns(EnergiesDiffer, match=r"s\.json: 1 of 3 .* sample 1 says -5 and has 7: they"):
        Samples.load(tmp_path / "s.json", QUBO)


@pytest.mark.parametrize("kind", ["csv", "npz", "dimod", "objects"])
def test_every_format_that_has_energies_is_compared(tmp_path: Path, kind: str) -> None:
    path, wrong = tmp_path / f"s.{'json' if kind in ('dimod', 'objects') else kind}", ENERGIES + 1
    if kind == "csv":
        rows = [",".join(map(str, [*row, e])) for row, e in zip(BITS, wrong, strict=True)]
        path.write_text("\n".join(["0,1,2,energy", *rows]))
    elif kind == "npz":
        np.savez(path, bits=BITS, energies=wrong)
    elif kind == "dimod":
        found = dimod.SampleSet.from_samples(BITS, "BINARY", energy=wrong)
        path.write_text(json.dumps(found.to_serializable()))
    else:
        objects = [
            {**{str(n): int(bit) for n, bit in enumerate(row)}, "energy": int(energy)}
            for row, energy in zip(BITS, wrong, strict=True)
        ]
        path.write_text(json.dumps(objects))
    with pytest.warns(EnergiesDiffer, match="3 of 3"):
        assert len(Samples.load(path, QUBO)) == 3


def test_what_openjij_serialises_is_read(tmp_path: Path) -> None:
    openjij = pytest.importorskip("openjij")
    found = openjij.SASampler().sample_qubo(QUBO.to_dict(), num_reads=4, seed=0)
    (tmp_path / "s.json").write_text(json.dumps(found.to_serializable()))
    assert len(loaded(tmp_path / "s.json")) == 4
    assert len(Samples.from_dimod(found, QUBO)) == 4


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_a_sample_set_is_converted_by_label_with_its_occurrences(vartype: str) -> None:
    labels = ["a", ("b", 1), 7]
    qubo = replace(QUBO, labels=labels)
    values = BITS if vartype == "BINARY" else 2 * BITS - 1
    found = dimod.SampleSet.from_samples(
        (values[:, ::-1], labels[::-1]), vartype, energy=ENERGIES, num_occurrences=[1, 2, 1]
    )
    samples = Samples.from_dimod(found, qubo)
    assert samples.bits.tolist() == [[0, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 1]]
    with pytest.raises(ShapeError, match="2 are missing"):
        Samples.from_dimod(dimod.SampleSet.from_samples({"a": 1}, "BINARY", energy=0), qubo)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("s.json", '{"spins": 3}', "must be a list of samples"),
        ("s.json", '["01x"]', "sample 1 must be a list of 3 numbers"),
        ("s.json", '[{"energy": 1, "configuration": {}}, {"energy": 1}]', "same variables"),
        ("s.txt", "010\n01\n", "sample 2 must have 3 values"),
        ("s.xlsx", "", r"must end in \.csv, \.txt"),
    ],
)
def test_other_answers_are_refused(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=complaint):
        Samples.load(tmp_path / name, QUBO)
