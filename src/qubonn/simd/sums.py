"""Add up lanes: a vector -> one number.

Without the compiler lanes are NumPy arrays, as in `qubonn.simd.vectors`.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from qubonn.simd.vectors import Lanes


def sum_of(lanes):
    """Return the sum of signed integers, as int64."""
    return int(lanes.sum(dtype=np.int64))


def widen(lanes):
    """Return signed integers as int32."""
    return lanes.astype(np.int32)


@intrinsic
def _sum_of(typing_context, lanes):
    def emit(context, builder, signature, values):
        vector = builder.sext(values[0], ir.VectorType(ir.IntType(64), lanes.count))
        name = f"llvm.vector.reduce.add.v{lanes.count}i64"
        kind = ir.FunctionType(vector.type.element, [vector.type])
        reduce = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(reduce, [vector])

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
