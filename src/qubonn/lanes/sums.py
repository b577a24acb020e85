"""Add up lanes: a vector -> one number.

Without the compiler lanes are NumPy arrays, as in `qubonn.lanes.vectors`.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

__all__ = ["sum_of"]


def sum_of(lanes):
    """Return the sum of int32 lanes, as int64; the caller sees to it that int32 can hold it."""
    return int(lanes.sum())


@intrinsic
def _sum_of(typing_context, lanes):
    def emit(context, builder, signature, values):
        vector = values[0].type
        name = f"llvm.vector.reduce.add.v{lanes.count}i32"
        kind = ir.FunctionType(vector.element, [vector])
        reduce = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.sext(builder.call(reduce, values), ir.IntType(64))

    return types.int64(lanes), emit


overload(sum_of)(lambda lanes: lambda lanes: _sum_of(lanes))
