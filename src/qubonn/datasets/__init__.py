"""Examples as arrays: the letters, made from a seed, and files that people bring."""

from qubonn.datasets.csv_file import read_csv
from qubonn.datasets.idx_file import read_idx
from qubonn.datasets.letters import IMAGE_SHAPE, Letters, as_text, letters
from qubonn.datasets.reading import read_npz, read_table
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
