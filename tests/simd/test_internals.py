"""Parts of other packages that are not their public interface, and which module of ours uses them.

If one of these fails after an update, raise the upper bound in pyproject.toml only once the module
works with the new version.
"""

from importlib import import_module
from importlib.metadata import version

import pytest

INTERNALS = {
    "numba.core.caching": ("simd/compiling.py", [
        "CompileResultCacheImpl._locator_classes", "FunctionCache._impl_class", "NullCache",
        "IndexDataCacheFile._save_data", "IndexDataCacheFile._load_index",
    ]),
    "numba.core.dispatcher": ("simd/compiling.py", [
        "Dispatcher.enable_caching", "Dispatcher.add_overload", "Dispatcher.get_call_template",
    ]),
    "numba.core.compiler": ("simd/compiling.py", [
        "Compiler._compile_core", "Compiler.define_pipelines", "Flags.no_compile",
        "Flags.no_cpython_wrapper", "Flags.no_cfunc_wrapper", "Flags.nrt", "Flags.forceinline",
    ]),
    "numba.core.lowering": ("simd/lowering.py", [
        "Lower._find_singly_assigned_variable", "Lower._cast_var", "Lower.getvar", "Lower.delvar",
        "Lower.storevar", "Lower.lower_binop", "Lower.lower_getitem", "Lower.lower_setitem",
    ]),
    "numba.core.typed_passes": ("simd/compiling.py, simd/lowering.py", [
        "NativeLowering.lowering_class", "NopythonRewrites",
    ]),
    "numba.core.untyped_passes": ("simd/compiling.py", ["InlineClosureLikes"]),
    "numba.core.typing": ("simd/lowering.py", ["Context.resolve_function_type"]),
    "numba.core.ir_utils": ("simd/lowering.py", ["rename_labels"]),
    "numba.core.codegen": ("simd/compiling.py", [
        "JITCodeLibrary.finalize", "JITCodeLibrary._optimize_functions",
        "JITCodeLibrary._optimize_final_module",
        "JITCodeLibrary._get_module_for_linking", "JITCodeLibrary.enable_object_caching",
    ]),
    "numba.core.cpu": ("simd/compiling.py", ["CPUContext.insert_user_function"]),
    "numba.core.cgutils": ("simd/vectors.py, simd/words.py", ["alloca_once"]),
    "numba.extending": ("simd/vectors.py, simd/words.py", [
        "lower_builtin", "models.PrimitiveModel", "register_model", "type_callable",
    ]),
    "llvmlite.ir": ("simd/vectors.py, simd/words.py", [
        "VectorType", "IntType", "Constant", "IRBuilder.bitcast", "IRBuilder.shuffle_vector",
    ]),
    "joblib.externals.loky.reusable_executor": ("cli/__init__.py", ["_executor"]),
    "joblib.externals.loky.backend.resource_tracker": ("stopping.py", ["ensure_running"]),
    "joblib.externals.loky": ("experiments/runner.py", ["get_reusable_executor"]),
}  # fmt: skip
CASES = [(module, *rest) for module, rest in INTERNALS.items()]


@pytest.mark.parametrize(("module", "user", "names"), CASES, ids=list(INTERNALS))
def test_internals_that_we_use_are_there(module: str, user: str, names: list[str]) -> None:
    package = module.partition(".")[0]
    for name in names:
        found = import_module(module)
        for part in name.split("."):
            assert hasattr(found, part), (
                f"{package} {version(package)} has no {module}.{name}, which {user} uses: adapt "
                "that module, or lower the bound in pyproject.toml"
            )
            found = getattr(found, part)


def test_a_compiled_function_keeps_its_cache_where_we_put_ours() -> None:
    numba = import_module("numba")
    function = numba.njit(lambda number: number)
    assert hasattr(function, "_cache"), "numba's Dispatcher has no _cache: see simd/compiling.py"


def test_numba_lists_the_given_folder_and_the_one_beside_the_source_first() -> None:
    caching = import_module("numba.core.caching")
    names = [kind.__name__ for kind in caching.CompileResultCacheImpl._locator_classes[:2]]
    assert [name.lstrip("_") for name in names] == [
        "UserProvidedCacheLocator", "InTreeCacheLocator"
    ], "numba's locators changed: see simd/compiling.py"  # fmt: skip
