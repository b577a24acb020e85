"""Add up lanes: a vector -> one number.

Without the compiler lanes are NumPy arrays, as in `qubonn.lanes.vectors`.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from qubonn.lanes.vectors import Lanes

__all__ = ["sum_of", "widen"]


def sum_of(lanes):
    """Return the sum of integers, as int64; the caller sees to it that int32 can hold it."""
    return int(lanes.sum())


def widen(lanes):
    """Return signed integers as int32."""
    return lanes.astype(np.int32)


@intrinsic
def _sum_of(typing_context, lanes):
    def emit(context, builder, signature, values):
        vector = _as_int32(builder, lanes, values[0])
        name = f"llvm.vector.reduce.add.v{lanes.count}i32"
        kind = ir.FunctionType(vector.type.element, [vector.type])
        reduce = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.sext(builder.call(reduce, [vector]), ir.IntType(64))

    return types.int64(lanes), emit


@intrinsic
def _widen(typing_context, lanes):
    def emit(context, builder, signature, values):
        return _as_int32(builder, lanes, values[0])

    return Lanes(types.int32, lanes.count)(lanes), emit


def _as_int32(builder, lanes, vector):
    wide = ir.VectorType(ir.IntType(32), lanes.count)
    return vector if vector.type == wide else builder.sext(vector, wide)


overload(sum_of)(lambda lanes: lambda lanes: _sum_of(lanes))
overload(widen)(lambda lanes: lambda lanes: _widen(lanes))
