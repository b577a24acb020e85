import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from qubonn.datasets import read_idx
from qubonn.datasets.files import TYPES
from qubonn.errors import FileFormatError

CODE_OF = {np.dtype(text): code for code, text in TYPES.items()}


def idx(values: np.ndarray[Any, Any]) -> bytes:
    big = values.astype(values.dtype.newbyteorder(">"))
    head = bytes([0, 0, CODE_OF[big.dtype], values.ndim])
    return head + np.array(values.shape, dtype=">u4").tobytes() + big.tobytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idx")


@given(data=st.data(), code=st.sampled_from(sorted(TYPES)), is_packed=st.booleans())
@settings(max_examples=60)
def test_every_type_and_shape_is_read_back(
    folder: Path, data: st.DataObject, code: int, is_packed: bool
) -> None:
    dtype = np.dtype(TYPES[code]).newbyteorder("=")
    values = data.draw(arrays(dtype, array_shapes(max_dims=4, max_side=4)))
    path = folder / "values-idx"
    path.write_bytes(gzip.compress(idx(values)) if is_packed else idx(values))
    back = read_idx(path)
    assert back.dtype == dtype
    assert back.tobytes() == values.tobytes()
    assert back.shape == values.shape


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "begins with nothing"),
        (b"\x00\x00\x08", "begins with 00 00 08"),
        (b"\x89PNG....", "begins with 89 50 4e 47"),
        (b"\x00\x00\x07\x01\x00\x00\x00\x00", "two zero bytes and a type"),
        (b"\x00\x00\x08\x00", "1 to 8 axes; got 0"),
        (b"\x00\x00\x08\x03\x00\x00", "ends within its head"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x03ab", "3 bytes of values, as its head says; got 2"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x03abcd", "got more"),
        (b"\x00\x00\x08\x03" + b"\xff" * 12, "not read"),
    ],
)
def test_what_is_wrong_gets_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "x-idx1-ubyte"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=words) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)


def test_a_head_that_promises_much_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x-idx1-ubyte"
    path.write_bytes(b"\x00\x00\x08\x01" + (1 << 29).to_bytes(4, "big") + b"few")
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="got 3"):
        read_idx(path)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()
