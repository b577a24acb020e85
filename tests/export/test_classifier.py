"""Classifiers: numbers in, the number of a class out, in C and in ONNX."""

import itertools
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qubonn as qn
from export.compiled import (
    STRICT,
    Case,
    answers,
    compile_source,
    needs_gcc,
    output_of,
    words_of,
)
from export.models import FittedClassifier, committee
from export.running import run_onnx
from qubonn.encoding import TableEncoder
from qubonn.encoding.automatic import fit_binariser
from qubonn.encoding.cells import Cells
from qubonn.errors import RangeError, TopologyError
from qubonn.training.calibration import Calibration
from qubonn.training.committee import class_scores

LABELS = ["ant", "bee", "cat", "dog"]


def even(columns: int, count: int, step: float) -> qn.Thermometer:
    """Columns of thresholds at equal distances."""
    thresholds, values = step * np.arange(count), step * np.arange(-0.5, count)
    column_of = np.repeat(np.arange(columns), count)
    return qn.Thermometer(np.tile(thresholds, columns), column_of, np.tile(values, columns))


ONE_WEIGHT = (even(12, 7, 31.5), even(12, 20, 12))  # per column


def with_binariser(binariser: Any, spin_count: int, *, seed: int = 0) -> FittedClassifier:
    """A classifier whose outputs are some of its hidden neurons: all spins matter."""
    levels: dict[str, Any] = {"weight_levels": 2 + seed % 2, "threshold_levels": 2 + 3 * (seed % 2)}
    if binariser in ONE_WEIGHT:
        levels = {"weight_levels": [5, 3], "threshold_levels": [9, 3], "threshold_step": 4}
        levels |= {"input_groups": binariser.column_of}
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
    ("uint8", PIXELS, 1, ONE_WEIGHT[0], 84),
    ("int16", PIXELS * 3 - 100, 4, ONE_WEIGHT[1], 240),
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


# ---- words and missing cells ----

WORDS = [[f"w{n:02}"] * (2 if n < 33 else 1) for n in range(36)]  # three of them share a spin
TRAINING = np.array(
    [
        (word, "no" if n % 3 else "yes", None if n % 5 == 0 else n % 7 / 4, n % 4, None)
        for n, word in enumerate(itertools.chain(*WORDS))
    ],
    dtype=object,
)
CELLS = np.array(
    list(
        itertools.product(
            ("w00", "w31", "w32", "w35", "new", None),
            ("no", "yes", "new", None),
            (-1, 0, 0.25, 1.0, 1.5, 9, None),
            (0, 2, None),
            (1, None),
        )
    ),
    dtype=object,
)
TABLE_ENCODER = cast(TableEncoder, fit_binariser("auto", Cells.of(TRAINING)))
CODES_OF_CELLS = TABLE_ENCODER.codes(CELLS)


def whole_codes(kind: str, scale: int) -> NDArray[np.int64]:
    """The codes as a device has them: numbers scaled, indices not, missing the last number."""
    limits = np.iinfo(kind)
    is_number = np.array([words is None for words in TABLE_ENCODER.categories])
    scaled = CODES_OF_CELLS * np.where(is_number, scale, 1)
    return np.where(np.isnan(scaled), limits.min or limits.max, scaled).astype(np.int64)


@needs_gcc
def test_words_and_missing_cells_become_classes_in_c_as_in_numpy(tmp_path: Path) -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    is_natural = (CELLS[:, 2:] != -1).all(axis=1)
    spins, cases = TABLE_ENCODER.encode(CELLS), []
    for kind in ("int8", "int16", "int32", "uint8", "uint16"):
        kept = is_natural if kind.startswith("u") else np.full(len(CELLS), True)
        cases.append(
            (kept, Case(classifier, whole_codes(kind, 4)[kept], {"inputs": kind, "scale": 4}))
        )
    cases.append((np.full(len(CELLS), True), Case(classifier, CODES_OF_CELLS, {"inputs": "float"})))
    found = answers([case for _, case in cases], tmp_path)
    votes = classifier.committee_.votes(spins)
    for (kept, _), answer in zip(cases, found, strict=True):
        assert answer.inputs == words_of(spins[kept])
        assert answer.votes == votes[kept].tolist()
        assert answer.classes == votes[kept].argmax(axis=1).tolist()


@pytest.mark.parametrize("form", ["float", "int8"])
def test_words_and_missing_cells_become_classes_in_onnx_as_in_numpy(form: Any) -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    model = qn.to_onnx(classifier, form=form, inputs="numbers")
    outputs, sums, classes = run_onnx(model, CODES_OF_CELLS)
    spins = TABLE_ENCODER.encode(CELLS)
    assert outputs.tolist() == classifier.committee_.predict_outputs(spins).tolist()
    assert sums.tolist() == classifier.committee_.votes(spins).tolist()
    assert classes.tolist() == classifier.committee_.votes(spins).argmax(axis=1).tolist()
    facts = {prop.key: json.loads(prop.value) for prop in model.metadata_props}
    assert facts["categories"][1:] == [["no", "yes"], None, None, None]


FLOAT_NUMBERS = np.array([0.1, 0.3, -0.0, 1e-45, 3e38, -3e38, 1.0, np.nan], dtype=np.float32)


@needs_gcc
def test_floats_become_bits_in_c_as_in_numpy(tmp_path: Path) -> None:
    numbers = np.stack([FLOAT_NUMBERS, FLOAT_NUMBERS[::-1]], axis=1)
    doubles = numbers.astype(np.float64)
    present = doubles[~np.isnan(doubles).any(axis=1)]
    encoders: list[tuple[Any, int]] = [
        (qn.Threshold(0.3), 2),
        (qn.Threshold([0.1, -1e300]), 2),
        (qn.Thermometer.fit(present, 3), qn.Thermometer.fit(present, 3).spin_count),
    ]
    cases = [
        Case(with_binariser(encoder, count), numbers, {"inputs": "float"})
        for encoder, count in encoders
    ]
    planes = Case(with_binariser(qn.BitPlanes(5), 60), PIXELS % 32, {"inputs": "float"})
    found = answers([*cases, planes], tmp_path)
    wanted = [words_of(encoder.encode(doubles)) for encoder, _ in encoders]
    assert [case.inputs for case in found] == [
        *wanted,
        words_of(qn.BitPlanes(5).encode(PIXELS % 32)),
    ]


HOSTILE = ["*/ #error", "a\\", "??/", 'quote"', "line\nend", "ünï", "/" + "*", "x" * 500]


@needs_gcc
def test_words_and_names_cannot_leave_their_comment(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({word: HOSTILE for word in HOSTILE})
    classifier = qn.QuboClassifier((2,), committee_size=1, random_state=0).fit(X, [0, 1] * 4)
    codes = classifier.binariser_.codes(X)
    (found,) = answers([Case(classifier, codes.astype(int), {"inputs": "int8"})], tmp_path)
    assert found.classes == classifier.predict(X).tolist()
    header = qn.to_c(classifier, inputs="int8")
    assert " *     0 = __ #error" in header
    assert " * feature 0 __ #error: the index of a word" in header
    assert " *     8 = any other word" in header
    assert "#define MODEL_MISSING INT8_MIN" in header


@needs_gcc
def test_the_program_reads_floats_and_missing_ones(tmp_path: Path) -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    qn.to_c(classifier, tmp_path / "model.h", inputs="float", with_main=True)
    compile_source(
        tmp_path / "model.h", tmp_path / "model", ("gcc", *STRICT, "-x", "c", "-DMODEL_MAIN")
    )
    given = "\n".join(",".join(map(str, row)) for row in CODES_OF_CELLS.tolist())
    lines = output_of(tmp_path / "model", given=given).splitlines()
    votes = classifier.committee_.votes(TABLE_ENCODER.encode(CELLS))
    assert [int(line.split()[-1]) for line in lines] == votes.argmax(axis=1).tolist()


def test_features_that_do_not_fit_their_type_are_refused() -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    for inputs in ("float", "bits"):
        with pytest.raises(RangeError, match="scale is for whole numbers"):
            qn.to_c(classifier, inputs=inputs, scale=10)
    words = [f"w{n}" for n in range(130)]
    many = TableEncoder([0], [1], [0], words, [130])
    with pytest.raises(RangeError, match="a column has 130 words; int8 holds indices below 127"):
        qn.to_c(with_binariser(many, 1), inputs="int8")


def test_a_pipeline_is_refused_with_what_to_do() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    steps = (StandardScaler(), qn.QuboClassifier((2,), committee_size=1))
    pipeline = make_pipeline(*steps).fit(X, y)
    for export in (qn.to_c, qn.to_onnx):
        with pytest.raises(
            TopologyError, match=r"got Pipeline: export its last step, pipeline\[-1\]"
        ):
            export(pipeline)
    assert "model_class" in qn.to_c(pipeline[-1])


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
    book = qn.CodeBook.one_hot(list("abc"))
    for size, pulls in itertools.product((1, 3), ((0.0, -1.0, -0.5), (-9.0, 0.0, -2.0))):
        members = committee(qn.Topology.dense(7, 5, 3), size, "largest", seed=size)
        model = FittedClassifier(members, book, calibration_=Calibration(0.5, pulls))
        cases.append(Case(model, spins, {}))
    return cases


def check_classes(case: Case, classes: list[int]) -> None:
    """The class is what scikit-learn's face says; of several, the first."""
    committee_, book = case.model.committee_, case.model.code_book_
    votes = committee_.votes(case.inputs)
    scores = class_scores(committee_, book, votes, case.model.calibration_)
    assert classes == scores.argmax(axis=1).tolist()


@needs_gcc
def test_code_words_and_pulls_are_weighed_in_c_as_in_numpy(tmp_path: Path) -> None:
    cases = code_cases()
    for case, found in zip(cases, answers(cases, tmp_path), strict=True):
        check_classes(case, found.classes)


@pytest.mark.parametrize("form", ["float", "int8"])
def test_code_words_and_pulls_are_weighed_in_onnx_as_in_numpy(form: Any) -> None:
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
