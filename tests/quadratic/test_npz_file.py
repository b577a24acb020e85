import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quadratic.small_qubos import SMALL
from qubonn.errors import FileFormatError
from qubonn.quadratic import Qubo
from qubonn.quadratic.files import load_qubo, save_qubo


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
