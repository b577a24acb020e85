"""Print the measures of the source tree and check them against their limits.

    python tools/measures.py            # sizes, functions, tests, names, import cycles
    python tools/measures.py --road     # also the files that a training example passes

Ends with 1 and a list of what is missed if a limit is exceeded.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from road import Road, road
from source_tree import (
    Module,
    argument_count,
    cycles,
    has_docstring,
    is_annotated,
    is_kernel,
    modules_of,
    public_names,
    shared_names,
    testable,
    unmirrored,
)

MOST_MODULES = 188
MOST_LINES = 36_100
MOST_MODULES_IN_A_FOLDER = 16
MOST_FILES_ON_THE_ROAD = 49
LEAST_MIRRORED = 0.9  # share of the modules that have a test file of their own
MOST_PUBLIC_NAMES = 50
MOST_KERNEL_ARGUMENTS = 8

ROOT = Path(__file__).parent.parent


def report(package: Path, tests: Path, passed: Road | None) -> list[str]:
    """Print all measures; return a line for each limit that is exceeded."""
    modules = modules_of(package)
    missed = [*_sizes(modules), *_functions(modules), *_mirrors(modules, tests)]
    documented = sum(has_docstring(module.tree) for module in modules)
    print(f"modules with a docstring: {documented} of {len(modules)}")
    names = len(public_names(package))
    print(f"public names: {names}")
    _show_imports_and_names(modules)
    missed += _above("public names", names, MOST_PUBLIC_NAMES)
    if passed is None:
        return missed
    _show(f"files from CSV to .qubonn: {len(passed.files)}", passed.files)
    _show(f"calls down and up again: {len(passed.returns)}", passed.returns)
    return missed + _above("files from CSV to .qubonn", len(passed.files), MOST_FILES_ON_THE_ROAD)


def _sizes(modules: list[Module]) -> Iterator[str]:
    folders = Counter(module.folder for module in modules)
    print(f"{'folder':22} {'modules':>7} {'lines':>7} {'loc':>7}")
    for folder, count in folders.items():
        _show_size(folder, [module for module in modules if module.folder == folder])
        yield from _above(f"modules in {folder}", count, MOST_MODULES_IN_A_FOLDER)
    lines = _show_size("all", modules)
    yield from _above("modules", len(modules), MOST_MODULES)
    yield from _above("lines", lines, MOST_LINES)


def _show_size(folder: str, modules: list[Module]) -> int:
    lines = sum(len(module.text.splitlines()) for module in modules)
    code = sum(len(module.code_lines) for module in modules)
    print(f"{folder:22} {len(modules):7} {lines:7,} {code:7,}")
    return lines


def _functions(modules: list[Module]) -> Iterator[str]:
    everything = [(module, function) for module in modules for function in module.functions]
    for kind in ("functions", "kernels"):
        chosen = [pair for pair in everything if is_kernel(pair[1]) == (kind == "kernels")]
        bodies = [module.body_lines(function) for module, function in chosen] or [0]
        arguments = [argument_count(function) for _, function in chosen] or [0]
        annotated = np.mean([is_annotated(function) for _, function in chosen] or [True])
        print(
            f"{len(chosen)} {kind}: body lines median {np.median(bodies):g}, "
            f"p90 {np.quantile(bodies, 0.9):g}, max {max(bodies)}; arguments "
            f"p90 {np.quantile(arguments, 0.9):g}, max {max(arguments)}; {annotated:.0%} annotated"
        )
    for module, function in chosen:  # the kernels
        what = f"arguments of kernel {module.name}.{function.name}"
        yield from _above(what, argument_count(function), MOST_KERNEL_ARGUMENTS)


def _mirrors(modules: list[Module], tests: Path) -> Iterator[str]:
    alone = [module.name for module in unmirrored(modules, tests)]
    share = 1 - len(alone) / len(testable(modules))
    _show(f"modules with a test file: {share:.0%}; without:", alone)
    if share < LEAST_MIRRORED:
        yield f"modules with a test file: {share:.0%}, at least {LEAST_MIRRORED:.0%}"


def _show_imports_and_names(modules: list[Module]) -> None:
    for is_deep, kind in ((False, "at import time"), (True, "with imports inside functions")):
        groups = cycles(modules, inside_functions=is_deep)
        count = sum(map(len, groups))
        _show(f"modules in import cycles, {kind}: {count}", map(" ".join, groups))
    shared = shared_names(modules)
    lines = (f"{name}: {' '.join(places)}" for name, places in shared.items())
    _show(f"names in several folders: {len(shared)}", lines)


def _show(title: str, entries: Iterable[str]) -> None:
    print(title, *entries, sep="\n    ")


def _above(what: str, value: int, limit: int) -> list[str]:
    return [f"{what}: {value:,}, at most {limit:,}"] if value > limit else []


def main() -> None:
    """Measure this repository."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--road", action="store_true", help="train, and list the files that run")
    passed = road() if parser.parse_args().road else None
    missed = report(ROOT / "src" / "qubonn", ROOT / "tests", passed)
    _show("\nmissed:" if missed else "\nall limits hold", missed)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
