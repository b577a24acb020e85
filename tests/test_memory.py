"""The memory that is free is the least that machine, containers and limits leave."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from qubonn import memory
from qubonn.memory import free_memory

GIB = 1 << 30


@pytest.fixture(autouse=True)
def a_machine_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    available = SimpleNamespace(available=8 * GIB)
    monkeypatch.setattr("psutil.virtual_memory", lambda: available)
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory, "OWN_CGROUPS", tmp_path / "own")
    monkeypatch.setattr(memory, "_left_by_limits", lambda: iter(()))


def group(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"memory.{name}").write_text(f"{content}\n")


def test_without_limits_it_is_what_the_machine_has() -> None:
    assert free_memory() == 8 * GIB


def test_a_group_of_version_2_limits_it(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/a/b\n")
    group(tmp_path / "cgroup/a/b", max=3 * GIB, current=GIB, stat="anon 5\ninactive_file 100")
    assert free_memory() == 2 * GIB + 100


def test_a_group_above_limits_it_too(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/a/b\n")
    group(tmp_path / "cgroup/a/b", max="max", current=GIB)
    group(tmp_path / "cgroup/a", max=2 * GIB, current=GIB)
    assert free_memory() == GIB


def test_a_container_sees_its_own_group_at_the_root(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("4:cpu,memory:/docker/0123\n1:name=systemd:/\n")
    group(tmp_path / "cgroup/memory", limit_in_bytes=GIB, usage_in_bytes=GIB // 2,
          stat="inactive_file 7\ntotal_inactive_file 9")  # fmt: skip
    assert free_memory() == GIB // 2 + 9


def test_version_1_writes_a_huge_number_for_no_limit(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("4:memory:/\n")
    group(tmp_path / "cgroup/memory", limit_in_bytes=9223372036854771712, usage_in_bytes=GIB)
    assert free_memory() == 8 * GIB


def test_a_group_that_uses_more_than_it_may_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("0::/\n")
    group(tmp_path / "cgroup", max=GIB, current=2 * GIB)
    assert free_memory() == 0


@pytest.mark.skipif(os.name != "posix", reason="needs limits of POSIX")
def test_a_limit_of_the_address_space_counts() -> None:
    program = (
        "import resource, psutil\n"
        "from qubonn.checks import require_memory\n"
        "used = psutil.Process().memory_info().vms\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, resource.RLIM_INFINITY))\n"
        "require_memory('little', 2**29)\n"
        "require_memory('much', 2**31)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env=environment, timeout=60,
    )  # fmt: skip
    assert "much needs about 2.0 GiB and 1.0 GiB are free" in done.stderr
