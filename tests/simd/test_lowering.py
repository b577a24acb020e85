"""Kernels give what the same functions give in Python: variables, branches, loops, elements."""

from typing import Any

import numpy as np
import pytest
from numba.core.typing import Context

from qubonn.simd.compiling import inlined, kernel, part
from qubonn.simd.lowering import RememberingContext


@kernel
def swaps(numbers: Any, results: Any) -> Any:
    """Swap variables in a loop, and assign some on one path only."""
    before, after = 0, 1
    for number in numbers:
        before, after = after, before + number
        if number > 2:  # noqa: SIM108
            last = before
        else:
            last = -after
        results[0] += last
    results[1], results[2] = before, after
    return before - after


@part
def halved(number: Any) -> Any:
    """Return half a number, rounded down; 1 for 0."""
    if number == 0:
        return 1
    return number // 2


@inlined
def in_steps(number: Any) -> Any:
    """Return the number of halvings until a number is 1."""
    count = 0
    while number > 1:
        number = halved(number)
        count += 1
    return count


@kernel
def calls(numbers: Any, results: Any) -> Any:
    """Call parts in nested loops, and end them early."""
    total = 0
    for number in numbers:
        for step in range(number):
            if step == 3:
                break
            if step % 2:
                continue
            total += in_steps(number + step)
    results[0] = total
    return total


@kernel
def elements(numbers: Any, results: Any) -> Any:
    """Read and write elements, rows and slices, with indices of several types."""
    table = results.reshape(2, 3)
    small = np.uint8(1)
    for row in range(2):
        for column in range(3):
            table[row, column] += numbers[row] * 10 + numbers[column]
    table[small, 0] ^= 5
    one = table[1]
    one[2] += len(table[0, 1:])
    results[-1] += numbers[-1] ** 2 + (numbers[1:][0] << 3)
    return table[0, small] + results[-2]


@pytest.mark.parametrize("function", [swaps, calls, elements])
@pytest.mark.parametrize("numbers", [[1, 2, 3], [7, 0, 5], [4, 4, 9, 2]])
def test_a_kernel_is_what_its_function_is(
    function: Any, numbers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.array(numbers, dtype=np.int64)
    compiled, plain = np.zeros(6, dtype=np.int64), np.zeros(6, dtype=np.int64)
    result = function(values, compiled)
    for one in (halved, in_steps):  # Python cannot call parts
        monkeypatch.setitem(globals(), one.__name__, getattr(one, "py_func", one))
    assert result == getattr(function, "py_func", function)(values, plain)
    assert (compiled == plain).all()


def test_types_are_remembered_by_operands() -> None:
    from numba import types
    from numba.core.registry import cpu_target

    original = cpu_target.typing_context
    assert isinstance(original, Context)
    context = RememberingContext(original)
    add = context.resolve_value_type(np.add)
    for kinds in ((types.int64, types.int64), (types.float32, types.float32)) * 2:
        found = context.resolve_function_type(add, kinds, {})
        assert found == original.resolve_function_type(add, kinds, {})
