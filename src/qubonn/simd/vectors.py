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
from numba.extending import lower_builtin, models, register_model, type_callable

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


def narrow(lanes, array):
    """Return signed integers, small enough, as the type of an array."""
    return lanes.astype(array.dtype)


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


def define(function, typer, *formals):
    """Return a decorator: compiled code of a call of `function` is what the decorated one emits.

    `typer` gives the type of the result, or None if the arguments are not its business. An overload
    or an intrinsic would be compiled by itself, called, and checked for an error after each call.
    """

    def decorate(emit):
        type_callable(function)(lambda context: typer)
        lower_builtin(function, *formals)(emit)
        return emit

    return decorate


def define_unary(function, result_of):
    """Return a decorator: compiled code calls the decorated function in place of `function`.

    It is given a builder, the type of the lanes and a vector; `result_of` gives the result's type.
    """

    def decorate(build):
        @define(function, lambda lanes: result_of(lanes), Lanes)
        def emit(context, builder, signature, values):
            return build(builder, signature.args[0], values[0])

    return decorate


def _define_binary(function, result_of=lambda lanes: lanes):
    """Return a decorator as `define_unary` does, for two operands; one may be a scalar."""

    def typer(left, right):
        found = [lanes for lanes in (left, right) if isinstance(lanes, Lanes)]
        return result_of(found[0]) if found else None

    def decorate(build):
        @define(function, typer, Lanes, Lanes)
        @lower_builtin(function, Lanes, types.Number)
        @lower_builtin(function, types.Number, Lanes)
        def emit(context, builder, signature, values):
            left, right = signature.args
            lanes = left if isinstance(left, Lanes) else right
            operands = _vectors(context, builder, lanes, signature.args, values)
            return build(builder, lanes, *operands)

    return decorate


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


@define(narrow, lambda lanes, array: Lanes(array.dtype, lanes.count), Lanes, types.Array)
def _(context, builder, signature, values):
    return builder.trunc(values[0], context.get_value_type(signature.return_type))


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


@define(fused, lambda left, right, addend: left, Lanes, types.Any, types.Any)
def _(context, builder, signature, values):
    lanes = signature.args[0]
    operands = _vectors(context, builder, lanes, signature.args, values)
    return call_llvm(builder, f"llvm.fma.v{lanes.count}f32", operands[0].type, operands)


@define(choose, lambda mask, if_set, if_clear: if_set, types.Integer, Lanes, Lanes)
def _(context, builder, signature, values):
    count = signature.args[1].count
    mask = context.cast(builder, values[0], signature.args[0], MASK_TYPES[count])
    flags = builder.bitcast(mask, ir.VectorType(ir.IntType(1), count))
    return builder.select(flags, values[1], values[2])


def define_access(read, write, *, is_by_row):
    """Define functions that read and write lanes: rows of a matrix, or parts of a flat array."""

    def pointer_to(context, builder, kinds, values, lanes):
        assert kinds[0].layout == "C", "lanes must be contiguous"
        assert is_by_row or kinds[0].ndim == 1, "lanes must come from a flat array"
        first = context.make_array(kinds[0])(context, builder, values[0]).data
        place = context.cast(builder, values[1], kinds[1], types.uint64)
        if is_by_row:
            place = builder.mul(place, ir.Constant(place.type, lanes.count))
        vector = context.get_value_type(lanes)
        return builder.bitcast(builder.gep(first, [place]), ir.PointerType(vector))

    def lanes_of(array, place, like):
        return Lanes(array.dtype, like.dtype.bitwidth)

    @define(read, lanes_of, types.Array, types.Integer, types.Array)
    def _(context, builder, signature, values):
        lanes = signature.return_type
        pointer = pointer_to(context, builder, signature.args, values, lanes)
        return builder.load(pointer, align=lanes.element.bitwidth // 8)

    @define(write, lambda array, place, lanes: types.none, types.Array, types.Integer, Lanes)
    def _(context, builder, signature, values):
        lanes = signature.args[2]
        pointer = pointer_to(context, builder, signature.args, values, lanes)
        builder.store(values[2], pointer, align=lanes.element.bitwidth // 8)
        return context.get_dummy_value()


define_access(load, store, is_by_row=True)


@define(
    load_column,
    lambda array, column, like: Lanes(array.dtype, like.dtype.bitwidth),
    types.Array,
    types.Integer,
    types.Array,
)
def _(context, builder, signature, values):
    matrix = context.make_array(signature.args[0])(context, builder, values[0])
    width = cgutils.unpack_tuple(builder, matrix.shape)[1]
    place = context.cast(builder, values[1], signature.args[1], types.intp)
    lanes = signature.return_type
    vector = ir.Constant(context.get_value_type(lanes), ir.Undefined)
    for lane in range(lanes.count):
        value = builder.load(builder.gep(matrix.data, [place]))
        vector = builder.insert_element(vector, value, ir.IntType(32)(lane))
        place = builder.add(place, width)
    return vector
