"""Classifiers: numbers in, the number of a class out, in C and in ONNX."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import qubonn as qn
from export.compiled import Case, answers, needs_gcc, words_of
from export.models import FittedClassifier, committee
from export.running import run_onnx
from qubonn.errors import RangeError
from qubonn.training.committee import class_scores

LABELS = ["ant", "bee", "cat", "dog"]


def with_binariser(binariser: Any, spin_count: int, *, seed: int = 0) -> FittedClassifier:
    """A classifier whose outputs are some of its hidden neurons: all spins matter."""
    levels = {"weight_levels": 2 + seed % 2, "threshold_levels": 2 + 3 * (seed % 2)}
    topology = qn.Topology.dense(spin_count, 9, len(LABELS), **levels)
    book = qn.CodeBook.one_hot(LABELS)
    return FittedClassifier(committee(topology, 3, "largest", seed=seed), book, binariser)


def class_of(classifier: FittedClassifier, numbers: NDArray[Any]) -> list[int]:
    """What NumPy says: the class with the largest sum, of several the first."""
    spins = classifier.binariser_.encode(numbers)
    numbers_of: list[int] = classifier.committee_.votes(spins).argmax(axis=1).tolist()
    return numbers_of


def whole_numbers(low: int, high: int, shape: tuple[int, int], seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True)


PIXELS = whole_numbers(0, 255, (40, 12))
SMALL = whole_numbers(-30, 30, (40, 12))
BINARISERS: list[tuple[Any, ...]] = [
    ("uint8", PIXELS, 1, qn.Threshold(127.5), 12),
    ("uint8", PIXELS, 1, qn.Threshold.fit(PIXELS), 12),
    ("uint8", PIXELS, 1, qn.Threshold([-5, 400, 3.5, -0.5, 255, 254, 0, 1, 2, 3, 4, 5]), 12),
    ("uint8", PIXELS, 1, qn.Thermometer.fit(PIXELS, 5), 60),
    ("uint8", PIXELS, 1, qn.BitPlanes(8), 96),
    ("uint8", PIXELS, 1, qn.BitPlanes(8, gray=True), 96),
    ("uint16", PIXELS * 200, 1, qn.BitPlanes(16), 192),
    ("int8", SMALL, 1, qn.Threshold.fit(SMALL), 12),
    ("int16", SMALL, 4, qn.Thermometer.fit(SMALL / 4, 3), 36),
    ("int32", SMALL * 10**7, 1000, qn.Threshold.fit(SMALL * 10**4 + 0.1), 12),
    ("int32", SMALL, 1, qn.Threshold([1e300, -1e300] * 6), 12),
]


@needs_gcc
def test_numbers_become_bits_and_classes_in_c_as_in_numpy(tmp_path: Path) -> None:
    cases: list[Case] = []
    wanted = []
    for kind, numbers, scale, binariser, spin_count in BINARISERS:
        classifier = with_binariser(binariser, spin_count, seed=len(cases))
        cases.append(Case(classifier, numbers, {"inputs": kind, "scale": scale}))
        spins = binariser.encode(numbers / scale)
        wanted.append((words_of(spins), class_of(classifier, numbers / scale)))
    found = answers(cases, tmp_path)
    assert [(case.inputs, case.classes) for case in found] == wanted


@pytest.mark.parametrize("form", ["float", "int8"])
@pytest.mark.parametrize(
    ("binariser", "numbers", "spin_count"),
    [
        (binariser, numbers / scale, spin_count)
        for _, numbers, scale, binariser, spin_count in BINARISERS
    ],
)
def test_numbers_become_classes_in_onnx_as_in_numpy(
    form: Any, binariser: Any, numbers: NDArray[Any], spin_count: int
) -> None:
    classifier = with_binariser(binariser, spin_count, seed=spin_count // 12)
    single = numbers.astype(np.float32)
    model = qn.to_onnx(classifier, form=form, inputs="numbers")
    outputs, sums, classes = run_onnx(model, single)
    spins = binariser.encode(single.astype(np.float64))
    assert outputs.tolist() == classifier.committee_.predict_outputs(spins).tolist()
    assert sums.tolist() == classifier.committee_.votes(spins).tolist()
    assert classes.tolist() == class_of(classifier, single.astype(np.float64))


@pytest.mark.parametrize("form", ["float", "int8"])
def test_the_labels_travel_with_an_onnx_classifier(form: Any) -> None:
    classifier = with_binariser(qn.Threshold(0), 12)
    model = qn.to_onnx(classifier, form=form)
    assert {prop.key: prop.value for prop in model.metadata_props} == {
        "classes": '["ant", "bee", "cat", "dog"]'
    }


CODES = [
    qn.CodeBook.gray_code(list("ONLX")),
    qn.CodeBook.gray_code(list("abcdefg")),
    qn.CodeBook(list("abc"), [[1, 1, -1, -1, 1], [-1, 1, 1, -1, -1], [1, -1, 1, 1, 1]]),
]


def code_cases() -> list[Case]:
    spins = np.array(list(itertools.product((-1, 1), repeat=7)))
    cases = []
    for book, size in itertools.product(CODES, (1, 2, 3, 6)):
        members = committee(qn.Topology.dense(7, 5, book.spin_count), size, seed=size)
        cases.append(Case(FittedClassifier(members, book), spins, {}))
    return cases


def check_classes(case: Case, classes: list[int]) -> None:
    """The class is what scikit-learn's face says; of several, the first."""
    committee_, book = case.model.committee_, case.model.code_book_
    scores = class_scores(committee_, book, committee_.votes(case.inputs))
    assert classes == scores.argmax(axis=1).tolist()


@needs_gcc
def test_code_words_are_weighed_in_c_as_in_numpy(tmp_path: Path) -> None:
    cases = code_cases()
    for case, found in zip(cases, answers(cases, tmp_path), strict=True):
        check_classes(case, found.classes)


@pytest.mark.parametrize("form", ["float", "int8"])
def test_code_words_are_weighed_in_onnx_as_in_numpy(form: Any) -> None:
    for case in code_cases():
        *_, classes = run_onnx(qn.to_onnx(case.model, form=form), case.inputs)
        check_classes(case, classes.tolist())


def test_numbers_are_refused_where_the_binariser_is_not_known() -> None:
    classifier = with_binariser(None, 3)
    with pytest.raises(RangeError, match="got a model without a binariser: binarise before"):
        qn.to_c(classifier, inputs="uint8")
    with pytest.raises(RangeError, match="inputs='numbers' needs a QuboClassifier"):
        qn.to_onnx(classifier, inputs="numbers")
    with pytest.raises(RangeError, match="bit planes of 9 bits need scale=1 and inputs that hold"):
        qn.to_c(with_binariser(qn.BitPlanes(9), 18), inputs="uint8")


@needs_gcc
def test_a_fitted_quboclassifier_is_exported(tmp_path: Path) -> None:
    numbers = whole_numbers(0, 16, (60, 8))
    labels = np.where(numbers[:, 0] > numbers[:, 1], "big", "small")
    for code in ("one_hot", "gray_code"):
        classifier = qn.QuboClassifier((8,), label_code=code, committee_size=3, random_state=0)
        classifier.fit(numbers, labels)
        wanted = classifier.predict(numbers).tolist()
        *_, classes = run_onnx(qn.to_onnx(classifier, inputs="numbers"), numbers)
        assert classifier.classes_[classes].tolist() == wanted
        (found,) = answers([Case(classifier, numbers, {"inputs": "uint8"})], tmp_path)
        assert classifier.classes_[found.classes].tolist() == wanted
