"""MicroPython gives the results of the model, by its own interpreter where one is installed."""

import os
import shutil
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import qubonn as qn
from export.models import FittedClassifier, committee, models, odd_wirings
from export.test_classifier import BINARISERS, CODES, TABLE_ENCODER, with_binariser
from qubonn.errors import RangeError, TopologyError
from qubonn.export import to_micropython
from qubonn.export.features import features_of
from qubonn.export.model import exported
from qubonn.export.stimuli import vectors_of
from qubonn.training.calibration import Calibration

# the unix port, or the file micropython.mjs of the npm package
# @micropython/micropython-webassembly-pyscript, which node runs
WASM = os.environ.get("QUBONN_MICROPYTHON", "")
NODE = """
import {{ readFileSync }} from "node:fs";
import {{ loadMicroPython }} from {module!r};
const python = await loadMicroPython({{ heapsize: 16 << 20 }});
python.runPython(readFileSync("program.py", "utf-8"));
"""


def run_micropython(source: str, folder: Path) -> str:
    """Run a program by MicroPython, and return what it prints."""
    (folder / "program.py").write_text(source)
    if shutil.which("micropython"):
        command = ["micropython", "program.py"]
    elif WASM and shutil.which("node"):
        (folder / "run.mjs").write_text(NODE.format(module=WASM))
        command = ["node", "run.mjs"]
    else:
        pytest.skip("neither micropython nor node and QUBONN_MICROPYTHON are there")
    found = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=folder)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
    return found.stdout


def program(model: Any, count: int = 40, **options: Any) -> tuple[str, str]:
    """A module and a loop over examples, and what it must print."""
    parts = exported(model)
    features = features_of(parts, options.get("inputs", "bits"), options.get("scale", 1))
    vectors = vectors_of(parts, features, count, seed=0)
    words, wanted = vectors.words, {}
    if features is not None and features.is_signed:
        words = (words ^ (1 << features.width - 1)) - (1 << features.width - 1)
    if parts.classes is None:
        wanted["outputs"] = (2 * vectors.outputs.astype(int) - 1).tolist()
    if parts.classes is not None or parts.reading == "largest":
        wanted["class_index"] = vectors.classes.tolist()
    read = "pack" if features is None else "binarise"
    loop = "".join(f"print([{call}({read}(row)) for row in EXAMPLES])\n" for call in wanted)
    source = to_micropython(model, **options)
    printed = "".join(f"{one}\n" for one in wanted.values())
    return f"{source}\nEXAMPLES = {words.tolist()}\n{loop}", printed


def cases() -> list[tuple[Any, dict[str, Any]]]:
    """Models of all kinds, with numbers, words and missing cells."""
    levels: dict[str, Any] = {"weight_levels": [17, 7], "threshold_levels": 5}
    found: list[tuple[Any, dict[str, Any]]] = [
        (qn.BinaryNetwork.random(qn.Topology.dense(5, 3, 2, **levels), seed=2), {}),
        (qn.BinaryNetwork.random(qn.Topology.dense(784, 33, 10), seed=2), {}),
        (committee(qn.Topology.dense(40, 9, 4), 3, "signs"), {}),
        (committee(qn.paper.topology(7), 3, "largest"), {}),
        (with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count), {"inputs": "int16", "scale": 4}),
    ]
    for number, (kind, _, scale, binariser, spin_count) in enumerate(BINARISERS):
        options = {"inputs": kind, "scale": scale}
        found.append((with_binariser(binariser, spin_count, seed=number), options))
    found += [
        (FittedClassifier(committee(qn.Topology.dense(6, 5, book.spin_count), 3), book), {})
        for book in CODES
    ]
    members = committee(qn.Topology.dense(6, 5, 3), 3, "largest")
    pulled = Calibration(0.5, (0.0, -1.0, -0.5))
    found.append((FittedClassifier(members, qn.CodeBook.one_hot(list("abc")), None, pulled), {}))
    return found


def test_python_gives_the_results_of_the_model() -> None:
    for model, options in cases():
        source, wanted = program(model, **options)
        with redirect_stdout(StringIO()) as printed:
            exec(source, {})
        assert printed.getvalue() == wanted


def test_micropython_gives_the_results_of_the_model(tmp_path: Path) -> None:
    programs = [program(model, **options) for model, options in cases()]
    printed = run_micropython("\n".join(source for source, _ in programs), tmp_path)
    assert printed == "".join(wanted for _, wanted in programs)


@settings(max_examples=30, deadline=None)
@given(models())
def test_any_wiring_gives_the_same_outputs(model: Any) -> None:
    require_equal_outputs(model)


def test_wirings_that_chance_seldom_makes_are_modules_too() -> None:
    for topology in odd_wirings().values():
        require_equal_outputs(qn.BinaryNetwork.random(topology, seed=1))


def require_equal_outputs(model: Any) -> None:
    vectors = vectors_of(exported(model), None, 20, seed=0)
    module: dict[str, Any] = {}
    exec(to_micropython(model), module)
    found = [module["outputs"](module["pack"](row)) for row in vectors.words.tolist()]
    assert found == (2 * vectors.outputs.astype(int) - 1).tolist()


def test_names_cannot_leave_their_place() -> None:
    labels = ['"""', "'\\", "\n__import__('os')", "\ud800", "é😀"]
    book = qn.CodeBook.one_hot(labels)
    model = FittedClassifier(committee(qn.Topology.dense(4, 3, 5), 1, "largest"), book)
    module: dict[str, Any] = {}
    exec(to_micropython(model, name='"""\nraise SystemExit'), module)
    safe = [label.encode("utf-8", "backslashreplace").decode() for label in labels]
    assert sorted(module["LABELS"]) == sorted(safe)


def test_what_cannot_be_expressed_leaves_no_file(tmp_path: Path) -> None:
    cyclic = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    with pytest.raises(TopologyError, match="must have no cycles"):
        to_micropython(qn.BinaryNetwork.random(cyclic, seed=0), tmp_path / "net.py")
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(RangeError, match="inputs must be 'bits' or one of uint8"):
        to_micropython(network, tmp_path / "net.py", inputs="float")  # type: ignore[arg-type]
    wide = qn.BinaryNetwork.random(qn.Topology.dense(65_535, 1), seed=0)
    with pytest.raises(RangeError, match="must have at most 65,534 sources; got 65,535"):
        to_micropython(wide, tmp_path / "net.py")
    assert not list(tmp_path.iterdir())
