"""njit, kernel, part: Numba's compiler with a cache that never stops a program, and in less time.

Function -> compiled function.  Numba refuses to compile a function whose cache cannot be written,
as in a container that is read-only.  Here the cache is, in this order:

1. compiled code that an image or a package brings along, in NUMBA_CACHE_DIR or beside the source,
   also where it can only be read;
2. the folder that Numba chooses: NUMBA_CACHE_DIR, beside the source, or in the user's cache;
3. a folder of this user alone in the temporary folder;
4. none: each process compiles.

A cache that is damaged, full or of another version is no error either: the function is compiled.
"""

import gc
import logging
import os
import stat
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from qubonn.simd.lowering import LeanLowering, RememberingContext

_log = logging.getLogger(__name__)
_said: set[str] = set()  # what was reported once in this process

SECONDS = {  # to compile on one core, about; benchmarks/first_run.py measures them
    "qubonn.engines._lifted_kernels.anneal_block": 1,
    "qubonn.engines._forward_kernels.anneal_replica": 5,
    "qubonn.engines._credit_kernels.anneal_by_credit": 6,
    "qubonn.samplers._kernels.anneal_all": 5,
    "qubonn.inference._word_kernels.run_blocks": 1,
}


def njit(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """Decorate as Numba does; with `cache` compiled code is kept where that is possible."""

    def decorate(function: Any) -> Any:
        compiled = numba.njit(**{"pipeline_class": _QuickCompiler, **options})(function)
        if cache and isinstance(compiled, Dispatcher):  # else the compiler is disabled
            compiled._cache = LayeredCache(function)
        return compiled

    return decorate if function is None else decorate(function)


# ---- kernels, and their parts ----

_PLAIN = {"error_model": "numpy", "_nrt": False}  # no checks of divisors, no counts of references


def kernel(function: Any) -> Any:
    """Decorate a function that Python calls, in any thread; it must not allocate arrays."""
    options = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": _KernelCompiler}
    return njit(cache=True, **options, **_PLAIN)(function)


def inlined(function: Any) -> Any:
    """Decorate a part that is inlined wherever it is called."""
    return part(function, forceinline=True)


def part(function: Any = None, *, keeps_literals: bool = False, **options: Any) -> Any:
    """Decorate a function that only compiled functions call; it must not allocate arrays.

    Numba optimises each function and generates its machine code, and does both again in every
    function that calls it, and in their callers. A part has no machine code: it is optimised once,
    together with the function that Python calls. Constants as arguments are the same as other
    numbers, unless it `keeps_literals` to compile code for each.
    """
    if function is None:
        return lambda function: part(function, keeps_literals=keeps_literals, **options)
    compiled = numba.njit(
        pipeline_class=_PartCompiler,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        **_PLAIN,
        **options,
    )(function)
    if isinstance(compiled, Dispatcher):
        compiled.add_overload = lambda done: compiled.overloads.update({done.signature.args: done})
        if not keeps_literals:
            of_types = compiled.get_call_template
            compiled.get_call_template = lambda kinds, names: of_types(
                tuple(map(types.unliteral, kinds)), names
            )
    return compiled


class _QuickCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, without searches for cyclic garbage among its many records."""

    def _compile_core(self) -> Any:
        was_enabled = gc.isenabled()
        gc.disable()  # in all threads, but one compiles at a time
        try:
            return super()._compile_core()
        finally:
            if was_enabled:
                gc.enable()


class _KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM's code of a kernel and of its parts, which is not optimised before it is complete."""

    def _optimize_functions(self, module: Any) -> None:
        pass

    def _optimize_final_module(self) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = False  # lanes are vectors
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class _PartLibrary(_KernelLibrary):
    """LLVM's code of a part and of the parts that it calls, as it was generated."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


UNUSED = (InlineClosureLikes, NopythonRewrites)  # passes for closures and expressions of arrays
_context = cache(RememberingContext)


class _KernelCompiler(_QuickCompiler):
    library = _KernelLibrary

    def define_pipelines(self) -> Any:
        name = self.state.func_id.func_qualname
        self.state.library = self.library(self.state.targetctx.codegen(), name)
        self.state.library.enable_object_caching()
        self.state.typingctx = _context(self.state.typingctx)
        pipelines = super().define_pipelines()
        for passes in pipelines:
            passes.passes = [
                (LeanLowering if one is NativeLowering else one, text)
                for one, text in passes.passes
                if one not in UNUSED
            ]
            passes.finalize()
        return pipelines


class _PartCompiler(_KernelCompiler):
    """Numba's compiler up to LLVM's code."""

    library = _PartLibrary

    def define_pipelines(self) -> Any:
        self.state.flags.no_compile = True
        return super().define_pipelines()

    def _compile_core(self) -> Any:
        def part(*arguments: Any) -> None:
            raise TypeError("a part of compiled functions cannot be called by itself")

        done = super()._compile_core()._replace(entry_point=part)
        self.state.targetctx.insert_user_function(part, done.fndesc, [done.library])
        return done


class LayeredCache(NullCache):  # type: ignore[misc] # numba has no types
    """Reads compiled code from the first of several folders that has it, and writes to the last."""

    def __init__(self, function: Any) -> None:
        self.name = f"{function.__module__}.{function.__name__}"
        self.writable = _writable_cache(function)
        self.layers = [*_readable_caches(function, self.cache_path), self.writable]

    @property
    def cache_path(self) -> str | None:
        """The folder that new code is written to; None if there is none."""
        path = self.writable.cache_path
        return None if path is None else str(path)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code; None, after saying so, if it must be compiled."""
        for layer in self.layers:
            with suppress(Exception):  # a damaged index or file, which unpickles to anything
                if (found := layer.load_overload(signature, context)) is not None:
                    return found
        _announce(self.name, self.writable)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep compiled code, unless the disk is full or the folder has gone."""
        for prepare in (lambda: None, self.flush):  # a damaged index is replaced by an empty one
            try:
                prepare()
                self.writable.save_overload(signature, result)
                return
            except Exception as error:  # what pickle raises on damaged bytes, or OSError
                _log.info("compiled code of %s is not kept: %r", self.name, error)

    def flush(self) -> None:
        """Forget what is in the folder that is written to."""
        self.writable.flush()


def _announce(name: str, cache: Any) -> None:
    """Say once that a function is being compiled, and where the result goes if not as usual."""
    if name in SECONDS and name not in _said:
        _said.add(name)
        is_watched = sys.stderr.isatty() or "ipykernel" in sys.modules
        level = logging.WARNING if is_watched else logging.INFO  # warnings are shown by default
        often = "in each process" if cache.cache_path is None else "once per machine"
        _log.log(level, "compiling, %s, about %d s", often, SECONDS[name])
    if cache.cache_path is None:
        _say_once(
            "compiled code is not kept, because no folder can be written: set NUMBA_CACHE_DIR to "
            "one that can"
        )
    elif isinstance(cache, _TemporaryCache):
        _say_once(
            f"compiled code is kept in {Path(cache.cache_path).parent}, because neither the "
            "package's folder nor the user's cache can be written"
        )


def _say_once(text: str) -> None:
    if text not in _said:
        _said.add(text)
        _log.warning(text)


# ---- where the cache is ----

_GIVEN, _IN_TREE = CompileResultCacheImpl._locator_classes[:2]


def _writable_cache(function: Any) -> Any:
    for kind in (FunctionCache, _TemporaryCache):
        with suppress(RuntimeError):  # no folder
            return kind(function)
    return NullCache()


def _readable_caches(function: Any, written: str | None) -> list[Any]:
    """Return the caches that hold this function in folders that cannot be written."""
    found = []
    for kind in (_GivenCache, _InTreeCache):
        with suppress(RuntimeError):
            cache = kind(function)
            if cache.cache_path != written and os.path.exists(cache._cache_file._index_path):
                found.append(cache)
    return found


def _temporary_folder() -> Path | None:
    """Return a folder that no other user can write: compiled code is read from it, and run."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    try:
        folder = Path(tempfile.gettempdir(), f"qubonn-compiled-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    is_ours = not hasattr(os, "getuid") or (
        state.st_uid == os.getuid() and not state.st_mode & 0o077
    )
    is_in_sight = folder.parent == Path.cwd()  # the last resort of `gettempdir`
    return folder if stat.S_ISDIR(state.st_mode) and is_ours and not is_in_sight else None


class _TemporaryLocator(_GIVEN):  # type: ignore[misc, valid-type]
    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)
        self._cache_path = os.path.join(
            _temporary_folder() or os.devnull, self.get_suitable_cache_subpath(file)
        )

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        locator = cls(function, file)
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator


class _Readable:
    def ensure_cache_path(self: Any) -> None:
        os.stat(self.get_cache_path())


class _ReadableGiven(_Readable, _GIVEN):  # type: ignore[misc, valid-type]
    pass


class _ReadableInTree(_Readable, _IN_TREE):  # type: ignore[misc, valid-type]
    pass


def _cache_kind(locator: Any) -> Any:
    """Return the class of caches in the folder that a class of locators finds."""
    implementation = type("_Place", (CompileResultCacheImpl,), {"_locator_classes": [locator]})
    return type("_PlacedCache", (FunctionCache,), {"_impl_class": implementation})


_TemporaryCache = _cache_kind(_TemporaryLocator)
_GivenCache = _cache_kind(_ReadableGiven)
_InTreeCache = _cache_kind(_ReadableInTree)
