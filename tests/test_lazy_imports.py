"""``import qubonn`` is quick: what is heavy comes only when it is used."""

import subprocess
import sys

import pytest

import qubonn as qn

HEAVY = (
    "sklearn",
    "matplotlib",
    "numba",
    "dimod",
    "scipy.stats",
    "networkx",
    "rich",
    "pandas",
    "onnx",
)


def modules_after(code: str) -> set[str]:
    """Names of all modules that a fresh Python has imported after running `code`."""
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import qubonn",
        "import qubonn; qubonn.Topology; qubonn.TrainingProblem",
        "import qubonn; qubonn.Topology.dense(3, 2, 1)",
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    modules = modules_after(code)
    assert "qubonn" in modules
    assert modules.isdisjoint(HEAVY)


def test_files_of_networks_are_loaded_without_scikit_learn() -> None:
    assert "sklearn" not in modules_after("import qubonn; qubonn.load")


def test_importing_the_package_alone_does_not_even_import_numpy() -> None:
    assert "numpy" not in modules_after("import qubonn")


def test_there_are_at_most_50_public_names() -> None:
    assert len(qn.__all__) <= 50


def test_every_public_name_resolves() -> None:
    assert all(getattr(qn, name) is not None for name in qn.__all__)
    assert len(set(qn.__all__)) == len(qn.__all__)


def test_a_name_resolves_to_the_same_object_each_time() -> None:
    assert [getattr(qn, name) is getattr(qn, name) for name in qn.__all__] == [True] * len(
        qn.__all__
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="No qubonn attribute Bagel"):
        getattr(qn, "Bagel")  # noqa: B009
    assert not hasattr(qn, "_secret")


def test_dir_lists_the_public_names_before_they_are_used() -> None:
    listed = modules_after("import qubonn; print(*dir(qubonn))")
    assert set(qn.__all__) <= listed
    assert "__version__" in listed


def test_star_import_gives_the_public_names() -> None:
    listed = modules_after("from qubonn import *; print(*globals())")
    assert set(qn.__all__) <= listed
