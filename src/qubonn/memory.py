"""How much memory this process may still allocate: by the machine, its container and its limits.

-> bytes.  The smallest of what the machine has free, what each control group of the process leaves
(versions 1 and 2, of Linux), and what the limit of its address space leaves (``ulimit -v``).
"""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
UNLIMITED = 1 << 60  # version 1 writes a number near 2**63 where there is no limit


def free_memory() -> int:
    """Bytes that can be allocated without swapping, or without being killed.

    >>> free_memory() > 0
    True
    """
    machine = int(psutil.virtual_memory().available)
    return max(0, min([machine, *_left_by_cgroups(), *_left_by_limits()]))


def _left_by_cgroups() -> Iterator[int]:
    """Yield what the control groups of this process and those above them leave."""
    for line in _text(OWN_CGROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = CGROUPS, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        own = root / path.strip("/")
        for group in (own, *own.parents):
            yield from _left_by_cgroup(group, *names)
            if group == root:  # which inside a container may be its own group
                break


def _left_by_cgroup(group: Path, limit_name: str, used_name: str) -> Iterator[int]:
    limit, used = _text(group / limit_name).strip(), _text(group / used_name).strip()
    if limit.isdigit() and used.isdigit() and int(limit) < UNLIMITED:
        yield int(limit) - int(used) + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    """Return the bytes of files that the system keeps in memory until it is needed."""
    pairs = dict(line.split(maxsplit=1) for line in _text(group / "memory.stat").splitlines())
    found = pairs.get("total_inactive_file", pairs.get("inactive_file", "0"))
    return int(found) if found.isdigit() else 0


def _left_by_limits() -> Iterator[int]:
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        yield limit - int(psutil.Process().memory_info().vms)


def _text(path: Path) -> str:
    with suppress(OSError, ValueError):  # there is no such file, or it cannot be read
        return path.read_text("ascii")
    return ""
