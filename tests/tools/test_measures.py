"""tools/measures.py on a made-up package of five modules."""

from pathlib import Path

import pytest

import measures
import road
import source_tree

INIT = '"""A package."""\n\n__all__ = ["one", "two"]\n'
LAYERS = '''"""Layers."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from made.shapes import area


class Layer:
    """Has a width."""

    def widened(self, by: int, *, most: int = 9) -> int:
        """Return more."""

        # a comment
        return min(
            by, most
        )
'''
KERNELS = """from numba import njit


@njit(cache=True)
def add(a, b, c, d, e, f, g, h, i):
    return a
"""
SHAPES = '"""Shapes."""\nfrom made import layers\n\n\ndef area(side):\n    return layers.Layer\n'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {"__init__.py": INIT, "layers.py": LAYERS, "shapes.py": SHAPES}
    files |= {"deep/__init__.py": '"""Deep."""\n', "deep/_kernels.py": KERNELS}
    for name, text in files.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path / "made"


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    folder = tmp_path / "tests" / "deep"
    folder.mkdir(parents=True)
    (folder / "test_kernels.py").touch()
    return folder.parent


def _printed(package: Path, tests: Path, capsys: pytest.CaptureFixture[str]) -> str:
    measures.report(package, tests, None)
    return capsys.readouterr().out


def test_modules_and_lines_are_counted_by_folder(
    package: Path, tests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [line.split() for line in _printed(package, tests, capsys).splitlines()[:4]]
    assert rows[1:] == [[".", "3", "26", "12"], ["deep", "2", "7", "4"], ["all", "5", "33", "16"]]


def test_blank_lines_comments_docstrings_and_signatures_are_no_body(package: Path) -> None:
    layers = next(one for one in source_tree.modules_of(package) if one.name == "made.layers")
    assert layers.body_lines(layers.functions[0]) == 3


def test_self_is_no_argument(package: Path) -> None:
    layers = next(one for one in source_tree.modules_of(package) if one.name == "made.layers")
    assert source_tree.argument_count(layers.functions[0]) == 2


def test_functions_and_kernels_are_apart(
    package: Path, tests: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = _printed(package, tests, capsys)
    assert "2 functions: body lines median 2, p90 2.8, max 3; arguments p90 1.9, max 2" in printed
    assert "max 2; 50% annotated" in printed
    assert "1 kernels: body lines median 1, p90 1, max 1; arguments p90 9, max 9" in printed


def test_a_private_module_is_mirrored_by_a_test_without_the_underscore(
    package: Path, tests: Path
) -> None:
    alone = source_tree.unmirrored(source_tree.modules_of(package), tests)
    assert [one.name for one in alone] == ["made.layers", "made.shapes"]


def test_imports_for_type_checkers_close_no_cycle(package: Path) -> None:
    modules = source_tree.modules_of(package)
    assert source_tree.cycles(modules, inside_functions=True) == []


@pytest.mark.parametrize(
    "statement", ["from made.shapes import area", 'import_module("made.shapes")']
)
def test_imports_inside_functions_close_cycles_if_they_are_counted(
    package: Path, statement: str
) -> None:
    with (package / "layers.py").open("a") as stream:
        stream.write(f"\n\ndef late():\n    {statement}\n")
    modules = source_tree.modules_of(package)
    assert source_tree.cycles(modules, inside_functions=False) == []
    assert source_tree.cycles(modules, inside_functions=True) == [["made.layers", "made.shapes"]]


def test_names_in_two_folders_are_listed(package: Path) -> None:
    (package / "deep" / "_layers.py").write_text("class _Layer: ...\n")
    shared = source_tree.shared_names(source_tree.modules_of(package))
    places = ["made.deep._layers", "made.layers"]
    assert shared == {"Layer": places, "layers.py": places}


def test_the_stub_lists_the_public_names_if_there_is_one(package: Path) -> None:
    assert source_tree.public_names(package) == ["one", "two"]
    (package / "__init__.pyi").write_text("from .layers import Layer as Layer\n")
    assert source_tree.public_names(package) == ["Layer"]


def test_what_exceeds_a_limit_is_named(
    package: Path, tests: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measures, "MOST_MODULES", 4)
    monkeypatch.setattr(measures, "MOST_FILES_ON_THE_ROAD", 38)
    assert measures.report(package, tests, road.Road(["a.py"] * 39, [])) == [
        "modules: 5, at most 4",
        "arguments of kernel made.deep._kernels.add: 9, at most 8",
        "modules with a test file: 33%, at least 90%",
        "files from CSV to .qubonn: 39, at most 38",
    ]
