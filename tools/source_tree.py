"""Read the source of a package: its modules, functions, imports, and names.

A folder of ``.py`` files -> `Module` records, and what measures.py counts in them.
"""

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
KERNEL_DECORATORS = {"njit", "kernel", "part", "inlined", "jit", "vectorize", "guvectorize"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A file of the package, parsed."""

    package: Path
    path: Path

    @cached_property
    def text(self) -> str:
        """All lines."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @property
    def name(self) -> str:
        """The dotted name; that of the package for `__init__`."""
        parts = self.path.relative_to(self.package.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def folder(self) -> str:
        """The folder within the package; "." for the package itself."""
        return self.path.parent.relative_to(self.package).as_posix()

    @cached_property
    def code_lines(self) -> set[int]:
        """The numbers of the lines that are not blank, comment or docstring."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in NO_CODE and token.string:
                lines.update(range(token.start[0], token.end[0] + 1))
        for node in ast.walk(self.tree):
            if isinstance(node, Function | ast.ClassDef | ast.Module) and has_docstring(node):
                lines.difference_update(_lines(node.body[0]))
        return lines

    @property
    def functions(self) -> list[Function]:
        """Functions and methods, also nested ones."""
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    def body_lines(self, function: Function) -> int:
        """Return the number of lines of code below the signature."""
        return len(self.code_lines & {line for node in function.body for line in _lines(node)})

    def mirror(self, tests: Path) -> Path:
        """Return the test file that belongs to this module."""
        folder = tests / self.path.parent.relative_to(self.package)
        return folder / f"test_{self.path.stem.lstrip('_')}.py"

    def imports(self, *, inside_functions: bool) -> Iterator[str]:
        """Yield dotted names of imported modules, or of names in them."""
        for node in _executed(self.tree, inside_functions):
            match node:
                case ast.Import():
                    yield from (alias.name for alias in node.names)
                case ast.ImportFrom(module=str(source)):
                    yield from (f"{source}.{alias.name}" for alias in node.names)
                case ast.Call(args=[ast.Constant(value=str(source)), *_]):
                    if ast.unparse(node.func).endswith("import_module"):
                        yield source


def modules_of(package: Path) -> list[Module]:
    """Return all modules of a package, in the order of their paths."""
    return [Module(package, path) for path in sorted(package.rglob("*.py"))]


def has_docstring(node: Function | ast.ClassDef | ast.Module) -> bool:
    """Return whether a module, class or function says what it is."""
    return ast.get_docstring(node, clean=False) is not None


def is_kernel(function: Function) -> bool:
    """Return whether Numba compiles the function."""
    names = {ast.unparse(one).split("(")[0].split(".")[-1] for one in function.decorator_list}
    return bool(names & KERNEL_DECORATORS)


def argument_count(function: Function) -> int:
    """Return the number of arguments without `self` and `cls`."""
    return sum(name.arg not in ("self", "cls") for name in _arguments(function))


def is_annotated(function: Function) -> bool:
    """Return whether the result and all arguments have types."""
    arguments = [one for one in _arguments(function) if one.arg not in ("self", "cls")]
    return function.returns is not None and all(one.annotation for one in arguments)


def unmirrored(modules: Iterable[Module], tests: Path) -> list[Module]:
    """Return the modules that have no test file of their own."""
    return [module for module in testable(modules) if not module.mirror(tests).exists()]


def testable(modules: Iterable[Module]) -> list[Module]:
    """Return all modules but `__init__` and `__main__`."""
    return [module for module in modules if not module.path.stem.startswith("__")]


def public_names(package: Path) -> list[str]:
    """Return `__all__` of the package, or the names that the stub for lazy_loader imports."""
    stub = package / "__init__.pyi"
    source = stub if stub.exists() else package / "__init__.py"
    names: list[str] = []
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
    return names


def cycles(modules: Iterable[Module], *, inside_functions: bool) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or not."""
    modules = list(modules)
    names = {module.name for module in modules}
    graph: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for source in module.imports(inside_functions=inside_functions):
            target = source if source in names else source.rpartition(".")[0]
            graph[module.name] |= {target} & names - {module.name}
    reached = {name: _reached(graph, name) for name in names}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in names
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def shared_names(modules: Iterable[Module]) -> dict[str, list[str]]:
    """Return names of classes and modules that are used in several folders, and the places."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for module in testable(modules):
        places[f"{module.path.stem.lstrip('_')}.py"][module.folder] = module.name
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")][module.folder] = module.name
    return {name: sorted(at.values()) for name, at in sorted(places.items()) if len(at) > 1}


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _arguments(function: Function) -> list[ast.arg]:
    given = function.args
    rest = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def _executed(node: ast.AST, inside_functions: bool) -> Iterator[ast.AST]:
    """Yield what runs at import time, or ever; never what is for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.Lambda) and not inside_functions:
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _executed(child, inside_functions)


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - seen
        seen |= new
        waiting.extend(new)
    return seen
