"""Features are tested as the encoder of the classifier does."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import qubonn as qn
from export.test_classifier import BINARISERS, CODES_OF_CELLS, TABLE_ENCODER, with_binariser
from qubonn.errors import RangeError
from qubonn.export.features import Comparison, Features, features_of
from qubonn.export.model import exported
from qubonn.export.stimuli import spins_of


def bits_of(features: Features, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Features as the circuit reads them; NaN where one is missing."""
    whole = np.where(np.isnan(numbers), features.missing, numbers).astype(np.int64)
    return np.asarray(whole & ((1 << features.width) - 1))


def test_tests_of_whole_numbers_are_those_of_the_encoder() -> None:
    for kind, numbers, scale, binariser, spin_count in BINARISERS:
        features = features_of(exported(with_binariser(binariser, spin_count)), kind, scale)
        assert features is not None
        spins = spins_of(features, bits_of(features, numbers.astype(float)))
        assert spins.tolist() == binariser.encode(numbers / scale).tolist()


def test_words_and_missing_cells_are_tested_as_by_the_encoder() -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    features = features_of(exported(classifier), "int16", 4)
    assert features is not None
    is_number = np.array([words is None for words in TABLE_ENCODER.categories])
    scaled = np.where(is_number, 4 * CODES_OF_CELLS, CODES_OF_CELLS)
    spins = spins_of(features, bits_of(features, scaled))
    codes = np.where(is_number, scaled / 4, scaled)
    wanted = [
        np.where(
            np.isnan(own) if rule == 2 else (own > level if rule == 0 else own == level), 1, -1
        )
        for own, rule, level in zip(
            codes[:, TABLE_ENCODER.column_of].T,
            TABLE_ENCODER.rule_of,
            TABLE_ENCODER.levels,
            strict=True,
        )
    ]
    assert spins.T.tolist() == np.array(wanted).tolist()


def test_signed_features_are_raised() -> None:
    features = Features("int8", 1, (Comparison(0, 0, -3),))
    assert features.raised(-3) == 125
    assert features.raised_text("f") == "f ^ 8'd128"
    assert features.missing == 128
    assert bits_of(features, np.array([[-3.0, np.nan]])).tolist() == [[253, 128]]


def test_floats_are_refused() -> None:
    classifier = with_binariser(qn.Threshold(0), 3)
    with pytest.raises(RangeError, match="one of uint8, int8, uint16, int16, int32; got 'float'"):
        features_of(exported(classifier), "float", 1)
