"""Lower kernels and their parts to LLVM's code: less of it than Numba generates, and in less time.

Typed function -> LLVM's code.  Numba keeps variables in memory, clears them after their last use,
allows negative indices, and looks up the type of each operation again; LLVM then removes most of
that. Kernels count no references and use no negative indices, so here a variable that is assigned
once is a value, and an element is read or written at its address.
"""

import operator
from collections import Counter, defaultdict
from typing import Any, ClassVar

from numba import types
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import rename_labels
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.core.typing import Context


class RememberingContext(Context):  # type: ignore[misc] # numba has no types
    """Another view of Numba's context, which types each operation once for the same operands."""

    known: ClassVar[dict[Any, Any]] = {}

    def __init__(self, original: Context) -> None:
        self.__dict__ = original.__dict__

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        is_plain = all(isinstance(one, types.Type) or type(one) is int for one in args)
        if kws or not is_plain or isinstance(func, types.Dispatcher):
            return super().resolve_function_type(func, args, kws)
        key = func, tuple(args)
        if key not in self.known:
            found = super().resolve_function_type(func, args, kws)
            if found is None:
                return None
            self.known[key] = found
        return self.known[key]


class LeanLower(Lower):  # type: ignore[misc]
    """Numba's lowering for functions without references and negative indices."""

    def init(self) -> None:
        """Find the variables that are values; blocks are lowered in the order of their labels."""
        self.blocks = self.func_ir.blocks = rename_labels(self.blocks)
        super().init()
        self._singly_assigned_vars |= _values(self.blocks)

    def delvar(self, name: str) -> None:
        """Leave a variable that is not used any more as it is."""

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Assign to a variable; the value before is not read."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Lower an operator on numbers or lanes as it was typed."""
        signature = self.fndesc.calltypes[expr]
        if op in (operator.pow, operator.ipow):
            return super().lower_binop(resty, expr, op)
        operands = [
            self._cast_var(one, kind)
            for one, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        function = self.context.typing_context.resolve_value_type(op)
        if signature.args not in function._impl_keys:  # typed as the operator that assigns too
            function.get_call_type(self.context.typing_context, signature.args, {})
        result = self.context.get_function(function, signature)(self.builder, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """Lower the reading of an element; of a row or a slice as Numba does."""
        place = self._element(value, index)
        if place is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        kind = self.typeof(value.name)
        found = self.context.unpack_value(self.builder, kind.dtype, place)
        return self.context.cast(self.builder, found, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Lower the writing of an element."""
        place = self._element(target_var, index_var)
        if place is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        kind = self.typeof(target_var.name).dtype
        self.context.pack_value(self.builder, kind, self._cast_var(value_var, kind), place)
        return None

    def _element(self, array_variable: Any, index_variable: Any) -> Any:
        """Return the address of an element of a contiguous array; None if it is something else."""
        array_kind, index_kind = (
            self.typeof(variable.name) for variable in (array_variable, index_variable)
        )
        kinds = tuple(index_kind) if isinstance(index_kind, types.BaseTuple) else (index_kind,)
        if not (
            isinstance(array_kind, types.Array)
            and array_kind.layout == "C"
            and array_kind.ndim == len(kinds)
            and all(isinstance(kind, types.Integer) for kind in kinds)
            and all(getattr(kind, "literal_value", 0) >= 0 for kind in kinds)
        ):
            return None
        builder, index = self.builder, self.loadvar(index_variable.name)
        model = self.context.data_model_manager[array_kind]
        array = self.loadvar(array_variable.name)
        data, shape = model.get(builder, array, "data"), model.get(builder, array, "shape")
        place = None
        for axis, kind in enumerate(kinds):
            step = builder.extract_value(index, axis) if len(kinds) > 1 else index
            step = self.context.cast(builder, step, kind, types.intp)
            if place is not None:
                length = builder.extract_value(shape, axis)
                step = builder.add(builder.mul(place, length), step)
            place = step
        return builder.gep(data, [place], inbounds=True)


def _values(blocks: dict[int, Any]) -> set[str]:
    """Return the variables that are assigned once, before each use on every path."""
    counts: Counter[str] = Counter()
    where: dict[str, tuple[int, int]] = {}
    uses: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for label, block in blocks.items():
        for number, statement in enumerate(block.body):
            used = statement.list_vars()
            if isinstance(statement, ir.Assign):
                counts[statement.target.name] += 1
                where[statement.target.name] = label, number
                used = statement.value.list_vars() if hasattr(statement.value, "list_vars") else []
            for variable in used:
                uses[variable.name].append((label, number))
    dominators = compute_cfg_from_blocks(blocks).dominators()
    return {
        name
        for name, count in counts.items()
        if count == 1
        and all(
            number > where[name][1]
            if label == where[name][0]
            else where[name][0] in dominators[label]
            for label, number in uses[name]
        )
    }


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanLowering(NativeLowering):  # type: ignore[misc]
    """The pass that lowers a function."""

    _name = "lean_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that does it."""
        return LeanLower
