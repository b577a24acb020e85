"""Labels become codewords, and the nearest codeword becomes a label."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from qubonn.encoding import CodeBook
from qubonn.errors import AlphabetError, ShapeError

LABELS = st.integers(-5, 5) | st.text(max_size=3) | st.none() | st.tuples(st.integers(0, 2))
KINDS = st.sampled_from([st.integers(-(2**65), 2**65), st.text(max_size=3), LABELS])
CLASSES = KINDS.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=12, unique=True))
CODES = [CodeBook.gray_code, CodeBook.one_hot]


@pytest.mark.parametrize("code", CODES)
class TestEveryCode:
    @given(classes=CLASSES, data=st.data())
    def test_decoding_gives_back_the_labels(
        self, code: Any, classes: list[Any], data: st.DataObject
    ) -> None:
        labels = data.draw(st.lists(st.sampled_from(classes), min_size=1))
        book = code(classes)
        spins = book.encode(labels)
        assert spins.dtype == np.int8
        assert spins.shape == (len(labels), book.spin_count)
        assert book.decode(spins).tolist() == labels

    def test_gives_one_class_one_spin(self, code: Any) -> None:
        book = code(["only"])
        assert book.spin_count == 1
        assert book.decode(book.encode(["only", "only"])).tolist() == ["only", "only"]

    def test_refuses_a_class_given_twice(self, code: Any) -> None:
        with pytest.raises(
            AlphabetError, match=r"distinct; got 'a' more .* numpy.unique\(labels\)"
        ):
            code(["a", "b", "a"])

    def test_refuses_no_classes(self, code: Any) -> None:
        with pytest.raises(ShapeError, match="classes must be a sequence of at least one label"):
            code([])


def test_the_gray_code_of_four_classes_is_the_papers() -> None:
    book = CodeBook.gray_code(["O", "N", "L", "X"])
    assert book.codewords.tolist() == [[-1, -1], [-1, 1], [1, 1], [1, -1]]


@pytest.mark.parametrize(
    ("class_count", "spin_count"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9)]
)
def test_the_gray_code_is_as_short_as_can_be_and_steps_by_one_spin(
    class_count: int, spin_count: int
) -> None:
    words = CodeBook.gray_code(range(class_count)).codewords
    assert words.shape == (class_count, spin_count)
    assert ((words[1:] != words[:-1]).sum(axis=1) == 1).all()


def test_one_hot_has_one_spin_up_for_each_class() -> None:
    assert CodeBook.one_hot("abc").codewords.tolist() == [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]


def test_ties_go_to_the_earlier_class() -> None:
    assert CodeBook.one_hot("abc").decode([[-1, -1, -1], [-1, 1, 1]]).tolist() == ["a", "b"]
    assert CodeBook.one_hot("cba").decode([[-1, -1, -1], [-1, 1, 1]]).tolist() == ["c", "b"]


@given(hnp.arrays(np.int8, (4, 300), elements=st.sampled_from([-1, 1])))
def test_distances_count_the_spins_that_differ(spins: NDArray[np.int8]) -> None:
    words = np.stack([np.ones(300), -np.ones(300)])
    minus_count = (spins == -1).sum(axis=1)
    distances = CodeBook([0, 1], words).distances(spins)
    np.testing.assert_array_equal(distances, np.stack([minus_count, 300 - minus_count], axis=1))


def test_labels_keep_their_type() -> None:
    assert CodeBook.gray_code(np.array([3, 5])).decode([[1]]).dtype == np.array([3]).dtype
    assert CodeBook.gray_code([1, "1"]).decode([[-1], [1]]).tolist() == [1, "1"]
    assert CodeBook.gray_code([(0, 1), (2,)]).decode([[-1], [1]]).tolist() == [(0, 1), (2,)]


def test_equal_labels_of_another_type_are_the_same_class() -> None:
    book = CodeBook.gray_code([0, 1])
    np.testing.assert_array_equal(book.encode(np.array([1.0, 0.0])), [[1], [-1]])
    np.testing.assert_array_equal(book.encode([True, False]), [[1], [-1]])
    texts = np.array(["b", "a"], dtype=object)
    np.testing.assert_array_equal(CodeBook.gray_code(["a", "b"]).encode(texts), [[1], [-1]])


def test_the_book_does_not_change_with_the_arrays_it_was_made_from() -> None:
    classes, words = np.array([3, 5]), np.array([[-1], [1]], dtype=np.int8)
    book = CodeBook(classes, words)
    classes[0] = words[0] = 7
    assert book.classes.tolist() == [3, 5]
    assert book.codewords.tolist() == [[-1], [1]]


def test_the_book_cannot_be_changed() -> None:
    book = CodeBook.one_hot("ab")
    with pytest.raises(ValueError, match="read-only"):
        book.codewords[0, 0] = -1


def test_an_unknown_label_is_refused_by_name() -> None:
    with pytest.raises(AlphabetError, match="the 2 classes 'a', 'b'; got 'q' as label 1"):
        CodeBook.one_hot("ab").encode(["a", "q", "b"])


def test_a_number_is_not_its_text() -> None:
    with pytest.raises(AlphabetError, match="the 2 classes 1, 2; got '1' as label 0"):
        CodeBook.one_hot([1, 2]).encode(["1"])


def test_a_missing_label_is_refused() -> None:
    with pytest.raises(AlphabetError, match="got nan as label 1"):
        CodeBook.one_hot([1, 2]).encode([1, np.nan])
    with pytest.raises(AlphabetError, match="got None as label 0"):
        CodeBook.one_hot("ab").encode([None, "a"])


def test_many_classes_are_not_all_listed() -> None:
    with pytest.raises(AlphabetError, match=r"the 99 classes 0, 1, .* 9, \.\.\.; got 99"):
        CodeBook.gray_code(range(99)).encode([99])


def test_labels_must_be_hashable() -> None:
    with pytest.raises(AlphabetError, match="labels must be hashable; unhashable type: 'list'"):
        CodeBook.one_hot("ab").encode([["a"], ["a", "b"]])  # type: ignore[list-item]


def test_classes_must_be_hashable() -> None:
    with pytest.raises(AlphabetError, match=r"classes must be hashable; got \['a'\]"):
        CodeBook.one_hot([["a"], ["a", "b"]])  # type: ignore[list-item]


def test_not_a_number_is_no_class() -> None:
    with pytest.raises(AlphabetError, match="classes must be equal to themselves; got nan"):
        CodeBook.one_hot([1.0, np.nan])


@pytest.mark.parametrize("labels", [[], np.array([["a"]]), np.array("a")])
def test_labels_must_be_a_sequence_of_at_least_one(labels: Any) -> None:
    with pytest.raises(ShapeError, match="labels must be a sequence of at least one label"):
        CodeBook.one_hot("ab").encode(labels)


def test_codewords_must_be_distinct() -> None:
    with pytest.raises(AlphabetError, match="codewords must be distinct; classes 'b', 'c' share"):
        CodeBook("abc", [[1, 1], [-1, 1], [-1, 1]])


def test_there_must_be_one_codeword_per_class() -> None:
    with pytest.raises(ShapeError, match="codewords must have 3 rows, one per class; got 2"):
        CodeBook("abc", [[1], [-1]])


def test_codewords_must_be_a_matrix() -> None:
    with pytest.raises(ShapeError, match="codewords must be a matrix with at least one column"):
        CodeBook("ab", [1, -1])


def test_codewords_must_be_spins() -> None:
    with pytest.raises(AlphabetError, match="codewords must be -1 or \\+1; got 0"):
        CodeBook("ab", [[1], [0]])


def test_decode_refuses_another_number_of_spins() -> None:
    with pytest.raises(ShapeError, match="spins must have 2 columns, one per output spin"):
        CodeBook.one_hot("ab").decode([[1, 1, 1]])


def test_a_code_book_prints_its_size() -> None:
    assert repr(CodeBook.gray_code("ONLX")) == "CodeBook(4 classes, 2 spins)"
    assert repr(CodeBook.one_hot(range(1_000))) == "CodeBook(1000 classes, 1000 spins)"
