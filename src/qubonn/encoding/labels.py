"""Code books: one codeword of output spins for each class.

Labels <-> matrix of spins.  Paper, section "Experimental set-up" (classes as output vectors).
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector, SpinMatrix, require_spin_matrix
from qubonn.errors import AlphabetError, RangeError, ShapeError

Labels = Sequence[Hashable] | NDArray[Any]  # one-dimensional
Reading = Literal["signs", "largest"]
"""How outputs are read: each by its sign (a committee: by the majority of its members' signs, ties
to -1), or as the one output with the largest pre-activation (a committee: the largest sum over its
members), the earliest of equals."""


def require_reading(reading: Reading) -> Reading:
    """Return `reading`, or raise unless it is "signs" or "largest"."""
    if reading not in ("signs", "largest"):
        raise RangeError(f"reading must be 'signs' or 'largest'; got {reading!r:.60}")
    return reading


@dataclass(frozen=True, eq=False, init=False)
class CodeBook:
    """Distinct classes, each with a codeword of -1 and +1 that no other class has.

    Classes may be text, numbers or anything hashable; their order decides ties in `decode`.

    >>> book = CodeBook(["no", "yes"], [[-1, -1, -1], [1, 1, 1]])
    >>> book.encode(["yes", "no", "yes"])
    array([[ 1,  1,  1],
           [-1, -1, -1],
           [ 1,  1,  1]], dtype=int8)
    >>> book.decode([[1, -1, 1], [-1, -1, 1]])
    array(['yes', 'no'], dtype='<U3')
    """

    classes: NDArray[Any]
    codewords: SpinMatrix  # row i is the codeword of classes[i]

    def __init__(self, classes: Labels, codewords: ArrayLike) -> None:
        names = _require_classes(classes)
        words = _require_codewords(codewords, names)
        for name, array in (("classes", names), ("codewords", words)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def reading(self) -> Reading:
        """How outputs are read: "largest" where each class has an output of its own."""
        one_hot = CodeBook.one_hot(self.classes).codewords
        return "largest" if np.array_equal(self.codewords, one_hot) else "signs"

    @classmethod
    def gray_code(cls, classes: Labels) -> "CodeBook":
        """Use the fewest spins, such that each class differs from the next in exactly one.

        The binary-reflected Gray code, most significant spin first; one class still gets one spin.

        >>> CodeBook.gray_code(["O", "N", "L", "X"]).codewords
        array([[-1, -1],
               [-1,  1],
               [ 1,  1],
               [ 1, -1]], dtype=int8)
        """
        names = _require_classes(classes)
        numbers = np.arange(len(names))
        shifts = np.arange(max(1, (len(names) - 1).bit_length()))[::-1]
        bits = (numbers ^ (numbers >> 1))[:, np.newaxis] >> shifts & 1
        return cls(names, 2 * bits - 1)

    @classmethod
    def one_hot(cls, classes: Labels) -> "CodeBook":
        """Give each class a spin of its own, +1 for its examples only.

        >>> CodeBook.one_hot(["cat", "dog"]).codewords
        array([[ 1, -1],
               [-1,  1]], dtype=int8)
        """
        names = _require_classes(classes)
        return cls(names, 2 * np.eye(len(names), dtype=np.int8) - 1)

    @property
    def spin_count(self) -> int:
        """Number of spins in a codeword."""
        return int(self.codewords.shape[1])

    def encode(self, labels: Labels) -> SpinMatrix:
        """Return the codeword of each label, one per row."""
        return self.codewords[self.class_numbers(labels)]

    def class_numbers(self, labels: Labels) -> IntVector:
        """Return the index of each label's class; labels that are no class are refused.

        >>> CodeBook.one_hot("abc").class_numbers(["b", "b", "a"])
        array([1, 1, 0])
        """
        array = _label_array("labels", labels)
        class_of = self._class_numbers(array)
        if class_of.min() < 0:
            example = int(np.argmin(class_of))
            raise AlphabetError(
                f"labels must be among the {len(self.classes)} classes {_listed(self.classes)}; "
                f"got {array.tolist()[example]!r} as label {example}"
            )
        return class_of

    def decode(self, spins: ArrayLike) -> NDArray[Any]:
        """Return the class of the nearest codeword for each row; of several, the earliest class."""
        return np.asarray(self.classes[self.distances(spins).argmin(axis=1)])

    def distances(self, spins: ArrayLike) -> NDArray[np.int64]:
        """Return the Hamming distance of each row to each codeword: examples x classes.

        >>> CodeBook.gray_code("ONLX").distances([[-1, 1]])
        array([[1, 0, 1, 2]])
        """
        states = require_spin_matrix("spins", spins, columns=self.spin_count, of="output spin")
        # int8 products of more than 127 spins would overflow; float64 sums are exact and fast
        agreement = states.astype(np.float64) @ self.codewords.T.astype(np.float64)
        return ((self.spin_count - agreement) / 2).astype(np.int64)

    def __repr__(self) -> str:
        return f"CodeBook({len(self.classes)} classes, {self.spin_count} spins)"

    def _class_numbers(self, labels: NDArray[Any]) -> IntVector:
        """Return the index of each label's class, or -1 where there is none."""
        distinct, inverse = labels, np.arange(len(labels))
        if labels.dtype.kind != "O":  # objects may not be sortable
            distinct, inverse = np.unique(labels, return_inverse=True)
        number_of = {name: number for number, name in enumerate(self.classes.tolist())}
        try:
            numbers = [number_of.get(label, -1) for label in distinct.tolist()]
        except TypeError as error:
            raise AlphabetError(f"labels must be hashable; {error}") from None
        return np.array(numbers, dtype=np.int64)[inverse]


def book_for(wanted: object, classes: NDArray[Any]) -> CodeBook:
    """Return a code book with the classes in the given order.

    `wanted` is "auto" (one-hot), "one_hot", "gray_code", or a CodeBook of these classes.
    """
    if isinstance(wanted, CodeBook):
        if len(wanted.classes) != len(classes):
            raise AlphabetError(
                f"label_code must have the {len(classes)} classes of y; "
                f"it has {len(wanted.classes)}"
            )
        return CodeBook(classes, wanted.encode(classes))
    if isinstance(wanted, str) and wanted in ("auto", "one_hot", "gray_code"):
        return (CodeBook.gray_code if wanted == "gray_code" else CodeBook.one_hot)(classes)
    raise RangeError(
        "label_code must be 'auto', 'one_hot', 'gray_code' or a CodeBook of the classes; "
        f"got {wanted!r:.60}"
    )


def require_classes(
    labels: NDArray[Any], known: NDArray[Any] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, sorted, and the index of each example's class."""
    from sklearn.utils.multiclass import check_classification_targets  # slow to import

    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise AlphabetError(f"y must hold a class for each example: {error}") from None
    classes, class_of = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise AlphabetError(f"y must hold at least two classes; got one class, {classes[0]}")
    if known is not None and not np.array_equal(classes, known):
        raise AlphabetError(
            "with warm_start, y must hold the classes of the first fit, "
            f"{known.tolist()!r:.60}; got {classes.tolist()!r:.60}"
        )
    return classes, class_of


def _require_classes(classes: Labels) -> NDArray[Any]:
    names = _label_array("classes", classes)
    seen: set[Any] = set()
    for name in names.tolist():
        if not isinstance(name, Hashable):
            raise AlphabetError(f"classes must be hashable; got {name!r:.60}")
        if name != name:
            raise AlphabetError(f"classes must be equal to themselves; got {name!r}")
        if name in seen:
            raise AlphabetError(
                f"classes must be distinct; got {name!r} more than once: "
                "numpy.unique(labels) lists the classes of many labels"
            )
        seen.add(name)
    return names


def _require_codewords(codewords: ArrayLike, names: NDArray[Any]) -> SpinMatrix:
    words = require_spin_matrix("codewords", codewords, columns=None, of="output spin").copy()
    if len(words) != len(names):
        raise ShapeError(f"codewords must have {len(names)} rows, one per class; got {len(words)}")
    first_of: dict[bytes, int] = {}
    for number, word in enumerate(words):
        first = first_of.setdefault(word.tobytes(), number)
        if first != number:
            pair = _listed(names[[first, number]])
            raise AlphabetError(f"codewords must be distinct; classes {pair} share one")
    return words


def _label_array(name: str, labels: Labels) -> NDArray[Any]:
    """Return labels as a new vector, without turning 1 into '1' or a tuple into a row."""
    array = np.array(labels) if hasattr(labels, "__array__") else _array_of_items(labels)
    if array.ndim != 1 or len(array) == 0:
        raise ShapeError(
            f"{name} must be a sequence of at least one label; got shape {array.shape}"
        )
    return array


def _array_of_items(labels: Iterable[Hashable]) -> NDArray[Any]:
    items = list(labels)
    try:
        array = np.array(items)
    except ValueError:  # tuples of several lengths
        array = np.array(None)
    if array.ndim == 1 and array.tolist() == items:
        return array
    return np.fromiter(items, dtype=object, count=len(items))


def _listed(names: NDArray[Any]) -> str:
    shown = [repr(name) for name in names[:10].tolist()]
    return ", ".join(shown) + (", ..." if len(names) > 10 else "")
