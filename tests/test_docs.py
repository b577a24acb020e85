"""Pages point to files that exist, and show source as it is."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")
QUOTED = re.compile(r"<!-- from (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_points_to_a_file(page: Path) -> None:
    targets = {(page.parent / link).resolve() for link in LINK.findall(page.read_text("utf-8"))}
    missing = {
        target.relative_to(ROOT.resolve()).as_posix() for target in targets if not target.exists()
    }
    assert not missing


def test_quoted_source_is_as_it_stands_in_the_file() -> None:
    quotes = QUOTED.findall((ROOT / "docs" / "extending.md").read_text("utf-8"))
    assert len(quotes) >= 4
    for path, source in quotes:
        assert source in (ROOT / path).read_text("utf-8"), path


@pytest.mark.parametrize("page", ["architecture.md", "paper.md"])
def test_every_source_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")
    named = re.findall(r"`(\w+(?:/\w+)*(?:\.py|/))`", text)
    folders = (ROOT / "src" / "qubonn", ROOT)
    missing = {name for name in named if not any((f / name).exists() for f in folders)}
    assert named
    assert not missing


def test_the_drawing_of_the_layers_is_what_import_linter_checks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    drawing = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("```")[1]
    rows = [re.split(r"  +", row.strip())[0] for row in drawing.strip().splitlines()]
    assert rows == layers


def test_every_page_is_in_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"(\w+\.md)", site))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert pages <= listed


def test_every_public_name_is_in_the_reference() -> None:
    import qubonn as qn

    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    named = set(re.findall(r"^::: qubonn\.(\w+)$", text, re.MULTILINE))
    modules = {"datasets", "encoding", "errors", "paper"}
    assert named == set(qn.__all__) - modules


def test_every_name_of_a_folder_in_the_reference_exists() -> None:
    text = (ROOT / "docs" / "reference.md").read_text("utf-8")
    named = re.findall(r"^::: (qubonn\.\w+)\.(\w+)$", text, re.MULTILINE)
    assert len(named) >= 10
    assert all(hasattr(import_module(folder), name) for folder, name in named)


def test_every_test_that_the_promises_name_exists() -> None:
    text = (ROOT / "docs" / "promises.md").read_text("utf-8")
    named = re.findall(r"`((?:tests|src)/[\w/]+\.py)(?:::(\w+))?`", text)
    assert named
    for path, name in named:
        source = (ROOT / path).read_text("utf-8")
        assert not name or f"def {name}(" in source or f"class {name}" in source, (path, name)
