"""Numbers, words and labels as spins of -1 and +1, and back."""

from qubonn.encoding.inputs import BitPlanes, InputEncoder, Thermometer, Threshold
from qubonn.encoding.labels import CodeBook, Reading, require_reading
from qubonn.encoding.table_encoder import TableEncoder

__all__ = [
    "BitPlanes",
    "CodeBook",
    "InputEncoder",
    "Reading",
    "TableEncoder",
    "Thermometer",
    "Threshold",
    "require_reading",
]
