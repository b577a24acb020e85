"""Examples as arrays: the letters, made from a seed, and files of examples."""

from qubonn.datasets.files import kind_of, read_idx, read_npz, read_table
from qubonn.datasets.letters import IMAGE_SHAPE, Letters, as_text, letters
from qubonn.datasets.table import Table, read_csv

__all__ = [
    "IMAGE_SHAPE",
    "Letters",
    "Table",
    "as_text",
    "kind_of",
    "letters",
    "read_csv",
    "read_idx",
    "read_npz",
    "read_table",
]
