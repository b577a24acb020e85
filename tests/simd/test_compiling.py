"""Kernels compile on any machine, whichever folders can be written."""

import gc
import importlib.util
import logging
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numba
import pytest
from numba.core.compiler import Compiler

compiling: Any = import_module("qubonn.simd.compiling")
PACKAGE = Path(compiling.__file__).parents[1]
SOURCE = """
from qubonn.simd.compiling import njit
@njit(cache=True)
def doubled(number):
    return 2 * number
"""
LONG = "kernel.doubled"


def module_in(folder: Path) -> ModuleType:
    """Import a module with one kernel from a folder."""
    path = folder / "kernel.py"
    if not path.exists():
        path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def refuse(*_: object, **__: object) -> NoReturn:
    raise OSError(30, "Read-only file system")


@pytest.fixture
def said() -> Iterator[set[str]]:
    before = set(compiling._said)
    compiling._said.clear()
    yield compiling._said
    compiling._said.update(before)


@pytest.fixture
def nothing_writable(monkeypatch: pytest.MonkeyPatch, said: set[str]) -> None:
    """Numba finds no folder for a cache."""
    for locator in compiling.CompileResultCacheImpl._locator_classes:
        monkeypatch.setattr(locator, "ensure_cache_path", refuse)
    monkeypatch.setattr(compiling._Readable, "ensure_cache_path", lambda self: None)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    write_test = numba.core.caching._CacheLocator.ensure_cache_path
    monkeypatch.setattr(compiling._TemporaryLocator, "ensure_cache_path", write_test)
    return folder


class TestTheCache:
    def test_is_beside_the_source_if_that_can_be_written(self, tmp_path: Path) -> None:
        kernel = module_in(tmp_path)
        assert kernel.doubled(2) == 4
        assert kernel.doubled._cache.cache_path == str(tmp_path / "__pycache__")
        assert module_in(tmp_path).doubled._cache.layers[0].cache_path == str(
            tmp_path / "__pycache__"
        )

    def test_is_in_a_private_temporary_folder_if_no_other_can_be_written(
        self,
        tmp_path: Path,
        nothing_writable: None,
        temporary: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        assert module_in(tmp_path).doubled(2) == 4
        (folder,) = temporary.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(list(folder.rglob("*.nbc"))) == 1
        assert caplog.messages == [
            f"compiled code is kept in {folder}, because neither the package's folder nor the "
            "user's cache can be written"
        ]
        again = module_in(tmp_path).doubled
        assert again(2) == 4
        assert len(caplog.messages) == 1
        assert sum(again.stats.cache_hits.values()) == 1

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
    def test_is_never_in_a_folder_that_others_can_write(
        self, tmp_path: Path, nothing_writable: None, temporary: Path
    ) -> None:
        folder = temporary / f"qubonn-compiled-{os.getuid()}"
        folder.mkdir()
        folder.chmod(0o777)
        assert module_in(tmp_path).doubled(2) == 4
        assert list(folder.iterdir()) == []

    def test_is_never_a_link_to_somewhere_else(
        self, tmp_path: Path, nothing_writable: None, temporary: Path
    ) -> None:
        (tmp_path / "other").mkdir(mode=0o700)
        (temporary / f"qubonn-compiled-{os.getuid()}").symlink_to(tmp_path / "other")
        assert module_in(tmp_path).doubled(2) == 4
        assert list((tmp_path / "other").iterdir()) == []

    def test_is_not_needed(
        self,
        tmp_path: Path,
        nothing_writable: None,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setattr(tempfile, "gettempdir", refuse)
        kernel = module_in(tmp_path)
        assert (kernel.doubled(2), kernel.doubled(2.5)) == (4, 5.0)
        assert kernel.doubled._cache.cache_path is None
        assert caplog.messages == [
            "compiled code is not kept, because no folder can be written: set NUMBA_CACHE_DIR to "
            "one that can"
        ]

    @pytest.mark.parametrize("place", ["beside", "NUMBA_CACHE_DIR"])
    def test_that_an_image_brings_along_is_read_where_nothing_can_be_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: set[str], place: str
    ) -> None:
        if place == "NUMBA_CACHE_DIR":
            monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "baked"))
        assert module_in(tmp_path).doubled(2) == 4
        for locator in compiling.CompileResultCacheImpl._locator_classes:
            monkeypatch.setattr(locator, "ensure_cache_path", refuse)
        monkeypatch.setattr(tempfile, "gettempdir", refuse)
        baked = module_in(tmp_path).doubled
        assert baked(2) == 4
        assert sum(baked.stats.cache_hits.values()) == 1
        assert baked(2.5) == 5.0  # compiled, and not kept

    @pytest.mark.parametrize("damage", [b"", b"\x80", b"noise" * 9, b"cos\nsystem\n"])
    def test_that_is_damaged_is_not_used(self, tmp_path: Path, damage: bytes) -> None:
        assert module_in(tmp_path).doubled(2) == 4
        for file in (tmp_path / "__pycache__").glob("kernel.doubled*"):
            file.write_bytes(damage)
        assert module_in(tmp_path).doubled(2) == 4

    def test_that_cannot_grow_stops_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kernel = module_in(tmp_path)
        monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "_save_data", refuse)
        assert kernel.doubled(2) == 4


class TestCompiling:
    @pytest.mark.parametrize(("is_watched", "level"), [(True, "WARNING"), (False, "INFO")])
    def test_is_announced_once_where_it_is_seen(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        said: set[str],
        caplog: pytest.LogCaptureFixture,
        is_watched: bool,
        level: str,
    ) -> None:
        monkeypatch.setitem(compiling.SECONDS, LONG, 7)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: is_watched, raising=False)
        caplog.set_level(logging.INFO)
        kernel = module_in(tmp_path)
        assert (kernel.doubled(2), kernel.doubled(2.5)) == (4, 5.0)
        found = [(record.levelname, record.message) for record in caplog.records]
        assert found == [(level, "compiling, once per machine, about 7 s")]

    def test_is_announced_by_the_names_of_kernels(self) -> None:
        for name in compiling.SECONDS:
            module, _, function = name.rpartition(".")
            assert isinstance(
                getattr(import_module(module), function)._cache, compiling.LayeredCache
            )

    def test_goes_through_this_module_everywhere(self) -> None:
        own = re.compile(r"^from numba import .*\bnjit\b|\bnumba\.njit\b|^from numba .*\bjit\b")
        users = [
            path.name
            for path in PACKAGE.rglob("*.py")
            if any(own.search(line) for line in path.read_text().splitlines())
        ]
        assert users == ["compiling.py"]


PARTS = """
from qubonn.simd.compiling import inlined, kernel, part
@inlined
def scaled(number, factor):
    return number * factor
@part
def squared(number):
    return scaled(number, number)
@part(keeps_literals=True)
def raised(number, exponent):
    return squared(number) if exponent == 2 else number
@kernel
def polynomial(number):
    return scaled(raised(number, 2), 3) + scaled(raised(number, 1), 2) + 1
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="needs the compiler")
class TestParts:
    def test_are_compiled_into_the_kernel_that_calls_them(self, tmp_path: Path) -> None:
        (tmp_path / "kernel.py").write_text(PARTS)
        module = module_in(tmp_path)
        assert (module.polynomial(5), module.polynomial(0.5)) == (86, 2.75)
        again = module_in(tmp_path).polynomial
        assert again(5) == 86
        assert sum(again.stats.cache_hits.values()) == 1

    def test_are_compiled_once_for_all_constants_unless_they_keep_literals(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "kernel.py").write_text(PARTS)
        module = module_in(tmp_path)
        module.polynomial(5)
        assert [len(one.overloads) for one in (module.scaled, module.raised)] == [1, 2]

    def test_are_compiled_without_the_collector_of_garbage(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "kernel.py").write_text(PARTS)
        found = []

        def compile_core(compiler: Any) -> Any:
            found.append(gc.isenabled())
            return original(compiler)

        original = Compiler._compile_core
        monkeypatch.setattr(Compiler, "_compile_core", compile_core)
        assert module_in(tmp_path).polynomial(5) == 86
        assert found
        assert not any(found)
        assert gc.isenabled()

    def test_cannot_be_called_by_themselves(self, tmp_path: Path) -> None:
        (tmp_path / "kernel.py").write_text(PARTS)
        module = module_in(tmp_path)
        for _ in range(2):
            with pytest.raises(TypeError, match="cannot be called by itself"):
                module.squared(5)


OTHER_USER = 65534
TRANSPOSED = """
import numpy as np
from qubonn.simd.words import transpose
square = np.zeros(512, np.uint64)
square[8] = 1
transpose(square)
print(square[0])
"""


def as_another_user(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run Python as another user: no HOME, and the package can only be read."""
    package = folder / "src" / "qubonn"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for place in (folder, *folder.parents[:2]):
        place.chmod(0o755)
    site = Path(numba.__file__).parents[1]
    if not is_open_to_all(site):
        pytest.skip(f"another user may not read the packages in {site}")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "missing"),
        "PYTHONPATH": f"{package.parent}{os.pathsep}{site}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    (folder / "work").mkdir()
    os.chown(folder / "work", OTHER_USER, OTHER_USER)
    return subprocess.run(
        [shared_python(), *command],
        capture_output=True, text=True, timeout=300, check=False, env=environment,
        cwd=folder / "work", user=OTHER_USER, group=OTHER_USER, extra_groups=[],
    )  # fmt: skip


def shared_python() -> str:
    """Return a Python of this version that every user may run."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        if is_open_to_all(Path(candidate)):
            return candidate
    pytest.skip("no Python of this version that another user may run")


def is_open_to_all(path: Path) -> bool:
    """Whether every user may pass all folders of a path, and of what it links to."""
    places = (path, *path.parents, *path.resolve().parents)
    return path.exists() and all(place.stat().st_mode & 0o1 for place in places)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root runs as others")
class TestAsAnotherUserWithoutAHome:
    @pytest.fixture
    def folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as name:  # pytest's own folders are private
            yield Path(name)

    def test_kernels_compile(self, folder: Path) -> None:
        done = as_another_user(folder, "-c", TRANSPOSED)
        assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr

    @pytest.mark.slow
    def test_the_demo_runs(self, folder: Path) -> None:
        done = as_another_user(folder, "-m", "qubonn", "demo", "--out", "demo")
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert (folder / "work" / "demo").is_dir()
