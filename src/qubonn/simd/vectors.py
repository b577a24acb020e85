"""Lanes: a vector type for Numba, so that kernels can work on many replicas in one instruction.

Rows of matrices <-> lanes; arithmetic, comparison, choice and sums on lanes. Without it Numba would
widen small integers to 64 bits and would not vectorise across lanes. Without the compiler
(NUMBA_DISABLE_JIT=1) lanes are NumPy arrays and the same kernels run unchanged. Numba invalidates
the cache of a kernel by the kernel's own file only: after a change here, touch the kernels.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

# ---- lanes, without the compiler ---------------------------------------------------------------
# In compiled code the functions below, and the operators of lanes, are those of the next part.


def load(array, row, states):
    """Return a row of a contiguous matrix as lanes, as many as a mask in `states` has bits."""
    assert array.shape[1] == states.dtype.itemsize * 8
    return array[row].copy()


def store(array, row, lanes):
    """Write lanes to a row of a contiguous matrix."""
    array[row] = lanes


def load_column(array, column, states):
    """Return a column of a contiguous matrix as lanes, one per row."""
    return array[:, column].copy()


def at_most(left, right):
    """Return a mask of the lanes where left <= right."""
    return np.packbits(left <= right, bitorder="little").view(f"<u{len(left) // 8}")[0]


def is_negative(lanes):
    """Return a mask of the integers below 0."""
    return np.packbits(lanes < 0, bitorder="little").view(f"<u{len(lanes) // 8}")[0]


def choose(mask, if_set, if_clear):
    """Return `if_set` in the lanes whose bit in the mask is set, `if_clear` in the others."""
    is_set = np.unpackbits(np.array([mask]).view(np.uint8), bitorder="little")
    return np.where(is_set, if_set, if_clear)


def larger(left, right):
    """Return the larger of two signed integers in each lane."""
    return np.maximum(left, right).astype(left.dtype)


def fused(left, right, addend):
    """Return left * right + addend, rounded once to float32, in the same way on every machine."""
    product = np.multiply(left, right, dtype=np.float64)  # exact
    return np.add(product, addend, dtype=np.float64).astype(np.float32)


def to_float(lanes):
    """Return integers, less than 2**31, rounded to float32."""
    return lanes.astype(np.float32)


def as_bits(lanes):
    """Return the bits of float32 as uint32."""
    return lanes.view(np.uint32)


def as_float(lanes):
    """Return the float32 numbers whose bits are these uint32."""
    return lanes.view(np.float32)


def sum_of(lanes):
    """Return the sum of signed integers, as int64."""
    return int(lanes.sum(dtype=np.int64))


def widen(lanes):
    """Return signed integers as int32."""
    return lanes.astype(np.int32)


# ---- lanes, for the compiler -------------------------------------------------------------------
# A vector type of LLVM, which maps it to the vector registers of the machine.

MASK_TYPES = {16: types.uint16, 32: types.uint32, 64: types.uint64}


class Lanes(types.Type):
    """A vector of `count` numbers of the type `element`."""

    def __init__(self, element, count):
        self.element = element
        self.count = count
        super().__init__(f"Lanes({element}, {count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        element = manager.lookup(lanes.element).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, lanes.count))


def _vectors(context, builder, lanes, kinds, values):
    """Return operands as vectors; scalars are cast to the lanes' element and repeated."""
    return [
        value
        if isinstance(kind, Lanes)
        else _repeated(builder, context.cast(builder, value, kind, lanes.element), lanes.count)
        for kind, value in zip(kinds, values, strict=True)
    ]


def _repeated(builder, scalar, count):
    undefined = ir.Constant(ir.VectorType(scalar.type, count), ir.Undefined)
    index = ir.IntType(32)
    first = builder.insert_element(undefined, scalar, index(0))
    zeros = ir.Constant(ir.VectorType(index, count), [0] * count)
    return builder.shuffle_vector(first, undefined, zeros)


def define_unary(function, result_of):
    """Return a decorator: compiled code calls the decorated function in place of `function`.

    It is given a builder, the type of the lanes and a vector; `result_of` gives the result's type.
    """

    def define(build):
        @intrinsic
        def operate(typing_context, lanes):
            def emit(context, builder, signature, values):
                return build(builder, lanes, values[0])

            return result_of(lanes)(lanes), emit

        overload(function)(lambda lanes: lambda lanes: operate(lanes))

    return define


def _define_binary(function, result_of=lambda lanes: lanes):
    """Return a decorator as `define_unary` does, for two operands; one may be a scalar."""

    def define(build):
        @intrinsic
        def operate(typing_context, left, right):
            lanes = left if isinstance(left, Lanes) else right

            def emit(context, builder, signature, values):
                operands = _vectors(context, builder, lanes, signature.args, values)
                return build(builder, lanes, *operands)

            return result_of(lanes)(types.unliteral(left), types.unliteral(right)), emit

        @overload(function)
        def operator_of_lanes(left, right):
            if isinstance(left, Lanes) or isinstance(right, Lanes):
                return lambda left, right: operate(left, right)
            return None

    return define


def _define_operator(function, integer_instruction, float_instruction=None):
    @_define_binary(function)
    def build(builder, lanes, left, right):
        is_float = lanes.element == types.float32
        instruction = float_instruction if is_float else integer_instruction
        return getattr(builder, instruction)(left, right)


_define_operator(operator.add, "add", "fadd")
_define_operator(operator.sub, "sub", "fsub")
_define_operator(operator.mul, "mul", "fmul")
_define_operator(operator.xor, "xor")
_define_operator(operator.and_, "and_")
_define_operator(operator.or_, "or_")
_define_operator(operator.lshift, "shl")
_define_operator(operator.rshift, "lshr")


def _define_conversion(function, instruction, element, llvm_element):
    @define_unary(function, lambda lanes: Lanes(element, lanes.count))
    def build(builder, lanes, vector):
        return getattr(builder, instruction)(vector, ir.VectorType(llvm_element, lanes.count))


_define_conversion(to_float, "sitofp", types.float32, ir.FloatType())
_define_conversion(as_bits, "bitcast", types.uint32, ir.IntType(32))
_define_conversion(as_float, "bitcast", types.float32, ir.FloatType())
_define_conversion(widen, "sext", types.int32, ir.IntType(32))


@_define_binary(larger)
def _(builder, lanes, left, right):
    return builder.select(builder.icmp_signed(">", left, right), left, right)


@_define_binary(at_most, lambda lanes: MASK_TYPES[lanes.count])
def _(builder, lanes, left, right):
    return builder.bitcast(builder.fcmp_ordered("<=", left, right), ir.IntType(lanes.count))


@define_unary(is_negative, lambda lanes: MASK_TYPES[lanes.count])
def _(builder, lanes, vector):
    is_below = builder.icmp_signed("<", vector, ir.Constant(vector.type, None))
    return builder.bitcast(is_below, ir.IntType(lanes.count))


@define_unary(sum_of, lambda lanes: types.int64)
def _(builder, lanes, vector):
    wide = builder.sext(vector, ir.VectorType(ir.IntType(64), lanes.count))
    return call_llvm(builder, f"llvm.vector.reduce.add.v{lanes.count}i64", ir.IntType(64), [wide])


def call_llvm(builder, name, result, operands):
    """Call an intrinsic function of LLVM; all operands are of one type."""
    kind = ir.FunctionType(result, [operands[0].type] * len(operands))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), operands)


@intrinsic
def _fused(typing_context, left, right, addend):
    def emit(context, builder, signature, values):
        operands = _vectors(context, builder, left, signature.args, values)
        return call_llvm(builder, f"llvm.fma.v{left.count}f32", operands[0].type, operands)

    return left(left, right, addend), emit


@intrinsic
def _choose(typing_context, mask, if_set, if_clear):
    def emit(context, builder, signature, values):
        flags = ir.VectorType(ir.IntType(1), if_set.count)
        return builder.select(builder.bitcast(values[0], flags), values[1], values[2])

    return if_set(MASK_TYPES[if_set.count], if_set, if_set), emit


def define_access(*, is_by_row):
    """Return functions that read and write lanes: rows of a matrix, or parts of a flat array."""

    @intrinsic
    def read(typing_context, array, place, like):
        lanes = Lanes(array.dtype, like.dtype.bitwidth)

        def emit(context, builder, signature, values):
            pointer = pointer_to(context, builder, signature.args, values, lanes)
            return builder.load(pointer, align=array.dtype.bitwidth // 8)

        return lanes(array, types.unliteral(place), like), emit

    @intrinsic
    def write(typing_context, array, place, lanes):
        def emit(context, builder, signature, values):
            pointer = pointer_to(context, builder, signature.args, values, lanes)
            builder.store(values[2], pointer, align=array.dtype.bitwidth // 8)
            return context.get_dummy_value()

        return types.void(array, types.unliteral(place), lanes), emit

    def pointer_to(context, builder, kinds, values, lanes):
        assert kinds[0].layout == "C", "lanes must be contiguous"
        assert is_by_row or kinds[0].ndim == 1, "lanes must come from a flat array"
        first = context.make_array(kinds[0])(context, builder, values[0]).data
        place = context.cast(builder, values[1], kinds[1], types.uint64)
        if is_by_row:
            place = builder.mul(place, ir.Constant(place.type, lanes.count))
        vector = context.get_value_type(lanes)
        return builder.bitcast(builder.gep(first, [place]), ir.PointerType(vector))

    return read, write


@intrinsic
def _load_column(typing_context, array, column, like):
    lanes = Lanes(array.dtype, like.dtype.bitwidth)

    def emit(context, builder, signature, values):
        matrix = context.make_array(array)(context, builder, values[0])
        width = cgutils.unpack_tuple(builder, matrix.shape)[1]
        place = context.cast(builder, values[1], signature.args[1], types.intp)
        vector = ir.Constant(context.get_value_type(lanes), ir.Undefined)
        for lane in range(lanes.count):
            value = builder.load(builder.gep(matrix.data, [place]))
            vector = builder.insert_element(vector, value, ir.IntType(32)(lane))
            place = builder.add(place, width)
        return vector

    return lanes(array, types.unliteral(column), like), emit


_load, _store = define_access(is_by_row=True)
overload(load_column)(
    lambda array, column, states: lambda array, column, states: _load_column(array, column, states)
)
overload(load)(lambda array, row, states: lambda array, row, states: _load(array, row, states))
overload(store)(lambda array, row, lanes: lambda array, row, lanes: _store(array, row, lanes))
overload(choose)(
    lambda mask, if_set, if_clear: lambda mask, if_set, if_clear: _choose(mask, if_set, if_clear)
)
overload(fused)(lambda left, right, addend: lambda left, right, addend: _fused(left, right, addend))
