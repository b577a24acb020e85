import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadratic.small_qubos import LABEL
from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import plain_labels, read_labels
from qubonn.storage import parse_json


@given(st.lists(LABEL, unique=True, max_size=5))
def test_labels_come_back_from_json(labels: list[Any]) -> None:
    text = json.dumps(list(plain_labels("p", labels)))
    assert list(read_labels("p", parse_json("p", text), len(labels))) == labels


def test_numbers_in_order_are_the_default() -> None:
    assert plain_labels("p", [0, 1, 2]) == range(3)
    assert plain_labels("p", range(3)) == range(3)
    assert plain_labels("p", [1, 0]) == [1, 0]
    assert read_labels("p", [0, 1], 2) == range(2)


@pytest.mark.parametrize(
    ("decoded", "complaint"),
    [
        (["a"], "labels must be a list of 2, one a variable; got 1 entries"),
        ({"a": 1}, "labels must be a list of 2, one a variable; got dict"),
        (["a", "a"], "labels must differ; variables 0 and 1 are both 'a'"),
        (["a", True], "label 1 must be made of text"),
        (["a", 2**63], "label 1 must be made of text"),
    ],
)
def test_other_labels_are_refused(decoded: object, complaint: str) -> None:
    with pytest.raises(FileFormatError, match=f"^p: {complaint}"):
        read_labels("p", decoded, 2)
