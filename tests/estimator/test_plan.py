"""Which encoder, code book and topology examples get."""

from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.engines import InputShifts
from qubonn.errors import ShapeError
from qubonn.estimator.plan import Encoding, flattened

IMAGES = np.arange(2 * 3 * 4).reshape(2, 3, 4)
DESIGN: dict[str, Any] = {
    "hidden": (5, 4),
    "topology": None,
    "binariser": "threshold",
    "label_code": "auto",
}


def test_numbers_get_dense_layers_from_spins_to_codewords() -> None:
    numbers = np.array([[0.0, 1.0], [1.0, 0.0]])
    encoding = Encoding.fit(numbers, np.array(["a", "b"]), None, **DESIGN)
    assert encoding.topology == qn.Topology.dense(2, 5, 4, 2)
    problem = encoding.problem(numbers, np.array([1, 0]), margin_strength=0.5)
    assert np.array_equal(problem.input_spins, encoding.binariser.encode(numbers))
    assert problem.output_spins.tolist() == [[-1, 1], [1, -1]]
    assert problem.margin_strength == 0.5


def test_images_become_rows_and_keep_their_shape() -> None:
    rows, shape = flattened(IMAGES, None)
    assert (rows.shape, shape) == ((2, 12), (3, 4))
    design = DESIGN | {"topology": "conv(2x2)", "binariser": qn.BitPlanes(5)}
    topology = Encoding.fit(rows, np.array([0, 1]), shape, **design).topology
    assert topology.layer_shapes == ((5, 3, 4), (1, 2, 3), (2,))


def test_spins_of_images_are_shifted_if_a_pixel_is_one_spin() -> None:
    rows, shape = flattened(IMAGES, None)
    one = Encoding.fit(rows, np.array([0, 1]), shape, **DESIGN | {"binariser": "threshold"})
    five = Encoding.fit(rows, np.array([0, 1]), shape, **DESIGN | {"binariser": qn.BitPlanes(5)})
    assert one.shifts_of_spins(shape, 2) == InputShifts(shape=(3, 4), pixels=2)
    assert one.shifts_of_spins(shape, 0) is one.shifts_of_spins(None, 1) is None
    assert five.shifts_of_spins(shape, 1) is None


def test_an_image_shape_must_be_that_of_the_images() -> None:
    assert flattened(IMAGES, (3, 4))[1] == (3, 4)
    with pytest.raises(ShapeError, match=r"X must hold images of shape \(4, 3\)"):
        flattened(IMAGES, (4, 3))
