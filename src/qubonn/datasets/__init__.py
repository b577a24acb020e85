"""Examples as arrays: the letters, made from a seed, and files of examples."""

from qubonn.datasets.csv import read_csv
from qubonn.datasets.files import read_idx, read_npz, read_table
from qubonn.datasets.letters import IMAGE_SHAPE, Letters, as_text, letters
from qubonn.datasets.table import Table

__all__ = [
    "IMAGE_SHAPE",
    "Letters",
    "Table",
    "as_text",
    "letters",
    "read_csv",
    "read_idx",
    "read_npz",
    "read_table",
]
