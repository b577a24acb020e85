"""Text in the paper's notation becomes layers, or one clear sentence."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qubonn import checks
from qubonn.errors import NotationError, RangeError, ShapeError
from qubonn.topology import Topology
from qubonn.topology.layers import Convolution, Dense, Layer, Pool, read_notation

# tab:networks; the label of network 7 as printed, and as its counts say
PAPER: dict[str, list[Layer]] = {
    "conv(2x2)": [Convolution(2, 2)],
    "conv(2x2)+fc(4)": [Convolution(2, 2), Dense(4)],
    "conv(3x3)": [Convolution(3, 3)],
    "conv(3x3x2)": [Convolution(3, 3, 2)],
    "conv(3x3)+fc(4)": [Convolution(3, 3), Dense(4)],
    "conv(4x4)": [Convolution(4, 4)],
    "conv(4x4x2)": [Convolution(4, 4, 2)],
    "conv(4x4)+fc(4)": [Convolution(4, 4), Dense(4)],
    "conv(4x4x2)+fc(4)": [Convolution(4, 4, 2), Dense(4)],
    **{f"fc({size})": [Dense(size)] for size in range(1, 11)},
}

A_LAYER = r"a layer must be fc\(neurons\), conv\(rows x columns\), .*, joined by \+; got "
REFUSED = {
    "": "a network needs at least one hidden layer .* got an empty text: .* Topology.dense",
    " \n\t": "a network needs at least one hidden layer",
    "+": A_LAYER + "''",
    "fc(4)+": A_LAYER + "''",
    "+fc(4)": A_LAYER + "''",
    "fc(4)++fc(4)": A_LAYER + "''",
    "pool(2)": A_LAYER + r"'pool\(2\)'",
    "pool(2x2x2)": A_LAYER,
    "pool(0x2)": "with positive numbers",
    "pool(2x2, levels=3)": A_LAYER,
    "pool(6x2)": r"pool\(6x2\) must fit the layer before it, which has 5 rows and 7 columns",
    "fc(4)+pool(2x2)": r"pool\(2x2\) needs rows and columns before it",
    "fc(4, known=)": "got 'known='",
    "fc(4, known=1, known=1)": "each at most once",
    "fc(4, known=-1)": r"known weights must be a seed, or 140 of # \(\+1\) and . .*; got '-1'",
    "conv(2x2, known=#.#)": "or 4 of # .*; got '#.#'",
    "conv(2x2, known=#.#-)": "or 4 of # .*; got '#.#-'",
    "fc(4)+lstm(3)": A_LAYER + r"'lstm\(3\)'",
    "fc": A_LAYER + "'fc'",
    "fc()": A_LAYER,
    "fc(4": A_LAYER,
    "fc 4": A_LAYER,
    "fc(4) fc(4)": A_LAYER + r"'fc\(4\)fc\(4\)'",
    "fc(4),fc(4)": A_LAYER,
    "fc(4x4)": A_LAYER,
    "fc(0)": "with positive numbers",
    "fc(-4)": "with positive numbers",
    "fc(4.0)": A_LAYER,
    "fc(1e3)": A_LAYER,
    "fc(1_0)": A_LAYER,
    "fc(four)": A_LAYER,
    "conv(3)": A_LAYER,
    "conv(0x3)": "with positive numbers",
    "conv(3x0)": "with positive numbers",
    "conv(3x3x0)": "with positive numbers",
    "conv(-3x3)": "with positive numbers",
    "conv(3x3x2x2)": A_LAYER,
    "conv(3*3)": A_LAYER,
    "fc(" + "9" * 10 + ")": "of up to 9 digits",
    "fc(" + "9" * 5000 + ")": "of up to 9 digits",
    "conv(2x2x" + "9" * 5000 + ")": "of up to 9 digits",
    "fc(1 2)": r"a number must be written without blanks; got 'fc\(1 2\)'",
    "conv(2x1\n 2)": "a number must be written without blanks",
    "fc(4)+conv(2x2)": r"conv\(2x2\) needs rows and columns before it; got a flat layer of 4 nodes",
    "conv(6x2)": r"conv\(6x2\) must fit the layer before it, which has 5 rows and 7 columns",
    "conv(2x8)": "must fit the layer before it, which has 5 rows and 7 columns",
    "conv(3x3)+conv(4x2)": "must fit the layer before it, which has 3 rows and 5 columns",
    "fc(4, levels=1)": r"levels=n and thresholds=n, n from 2, .*; got 'levels=1'",
    "fc(4, levels=0)": "n from 2",
    "fc(4, levels=x)": "got 'levels=x'",
    "fc(4, levels=)": "got 'levels='",
    "fc(4, levels=-3)": "got 'levels=-3'",
    "fc(4, levels=2.5)": "got 'levels=2.5'",
    "fc(4, level=3)": "got 'level=3'",
    "fc(4, levels=3, levels=3)": "each at most once",
    "conv(3x3, thresholds=" + "9" * 5000 + ")": "of up to 9 digits; got 'thresholds=9",
    "fc(4, 3)": A_LAYER,
    "fc(levels=3, 4)": A_LAYER,
    "fc(levels=3)": A_LAYER,
    "fc(4), levels=3": A_LAYER,
    "fc(4, levels=3": A_LAYER,
    "out(3)": A_LAYER,
    "out(4, levels=3)": A_LAYER,
    "out(levels=3) + fc(4)": A_LAYER + r"'out\(levels=3\)'",
    "out() + out()": A_LAYER,
    "fc(4, stride=2)": "options of a layer must be",
    "conv(3x3, stride=0)": "options of a layer must be",
    "conv(2x2, padding=2)": "must fit the layer before it, .*: each weight must read a part of it",
    "conv(5x5, stride=9, padding=1)": "each weight must read a part of it",
    "garbage \x00 \N{SNOWMAN}": A_LAYER,
}


LEVELS = {
    "fc(64, levels=3, thresholds=9)": [Dense(64, 3, 9), Dense(2)],
    "fc(64,thresholds=9)": [Dense(64, 2, 9), Dense(2)],
    "conv(3x3x2, levels=3, thresholds=5)": [Convolution(3, 3, 2, 3, 5), Dense(2)],
    "CONV(3X3 , Levels = 4) + fc(5)": [Convolution(3, 3, 1, 4), Dense(5), Dense(2)],
    "fc(4) + out(levels=4, thresholds=9)": [Dense(4), Dense(2, 4, 9)],
    "fc(4) + out()": [Dense(4), Dense(2)],
    "conv(3x3, stride=2)": [Convolution(3, 3, stride=2), Dense(2)],
    "conv(3x3x4, padding=1, levels=3)": [Convolution(3, 3, 4, 3, padding=1), Dense(2)],
    "out(levels=4)": [Dense(2, 4)],
    "conv(2x2)+pool(2x1)": [Convolution(2, 2), Pool(2, 1), Dense(2)],
    "fc(3, known=7)+out(known=0)": [Dense(3, known=7), Dense(2, known=0)],
    "conv(1x2x2, known=#./##)": [Convolution(1, 2, 2, known="#./##"), Dense(2)],
}


@pytest.mark.parametrize(("notation", "layers"), LEVELS.items(), ids=LEVELS.keys())
def test_layers_may_have_levels_and_thresholds(notation: str, layers: list[Layer]) -> None:
    assert read_notation(notation, (5, 5), 2) == ((1, 5, 5), layers)


def hidden_layers(notation: str) -> list[Layer]:
    return read_notation(notation, (5, 5), 2)[1][:-1]


def written(layer: Layer) -> str:
    if isinstance(layer, Convolution):
        sizes = f"conv({layer.rows}x{layer.columns}x{layer.filters}"
    elif isinstance(layer, Pool):
        return f"pool({layer.rows}x{layer.columns})"
    else:
        sizes = f"fc({layer.size}"
    steps = ""
    if isinstance(layer, Convolution):
        steps = f", stride={layer.stride}, padding={layer.padding}"
    return f"{sizes}, levels={layer.levels}, thresholds={layer.thresholds}{steps})"


@pytest.mark.parametrize(("notation", "layers"), PAPER.items(), ids=PAPER.keys())
def test_every_notation_of_the_paper_is_read(notation: str, layers: list[Layer]) -> None:
    assert read_notation(notation, (5, 5), 2) == ((1, 5, 5), [*layers, Dense(2)])


@pytest.mark.parametrize(
    "notation",
    [
        "conv(3x3x2) + fc(4)",
        "  conv ( 3 x 3 x 2 )\n+\tfc ( 4 ) ",
        "CONV(3X3X2)+FC(4)",
        "Conv(3x3X2)+Fc(4)",
        "conv(3\N{MULTIPLICATION SIGN}3\N{MULTIPLICATION SIGN}2)+fc(4)",
        "conv(3 \N{MULTIPLICATION SIGN} 3x2)\N{NO-BREAK SPACE}+ fc(4)",
        "conv(03x3x2)+fc(0004)",
    ],
)
def test_blanks_capitals_and_multiplication_signs_make_no_difference(notation: str) -> None:
    assert hidden_layers(notation) == [Convolution(3, 3, 2), Dense(4)]


def test_several_convolutions_and_several_dense_layers_may_follow_each_other() -> None:
    assert hidden_layers("conv(2x2x3)+conv(3x1)+fc(7)+fc(5)") == [
        Convolution(2, 2, 3),
        Convolution(3, 1),
        Dense(7),
        Dense(5),
    ]


def test_a_filter_may_cover_the_whole_layer_before() -> None:
    topology = Topology.parse("conv(5x5x3)", inputs=(5, 5), outputs=2)
    assert topology.layer_shapes == ((1, 5, 5), (3, 1, 1), (2,))


@pytest.mark.parametrize(("notation", "sentence"), REFUSED.items())
def test_other_texts_are_refused_in_a_sentence(notation: str, sentence: str) -> None:
    with pytest.raises(NotationError, match=sentence) as caught:
        Topology.parse(notation, inputs=(5, 7), outputs=2)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("notation", [None, 4, b"fc(4)", ["fc(4)"], Dense(4)])
def test_what_is_not_text_is_refused(notation: Any) -> None:
    with pytest.raises(NotationError, match=r"must be written as text such as 'fc\(4\)'; got"):
        Topology.parse(notation, inputs=25, outputs=2)


def test_a_convolution_of_flat_inputs_is_refused_with_a_hint() -> None:
    with pytest.raises(NotationError, match=r"flat layer of 25 nodes: give inputs=\(rows, col"):
        Topology.parse("conv(2x2)", inputs=25, outputs=2)


def test_a_network_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_memory", lambda: 1 << 30)
    with pytest.raises(
        NotationError, match=r"fc\(999999999\): a network of 26999999973 arcs needs"
    ):
        Topology.parse("fc(999999999)", inputs=25, outputs=2)
    with pytest.raises(NotationError, match="GiB are free"):
        Topology.parse("conv(1x1x999999999)", inputs=(5, 5), outputs=2)


@given(st.text())
@example("fc(\N{ARABIC-INDIC DIGIT THREE})")
@example("fc(\N{SUPERSCRIPT TWO})")
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}")
@example("9" * 100_000)
def test_any_text_is_read_or_refused_with_a_notation_error(notation: str) -> None:
    read_or_refused(notation)


@given(
    st.lists(st.sampled_from([*"()x+ 0129-.,", "fc", "conv", "fc(4)", "conv(2x2)"])).map("".join)
)
def test_almost_any_notation_is_read_or_refused_with_a_notation_error(notation: str) -> None:
    read_or_refused(notation)


def read_or_refused(notation: str) -> None:
    with suppress(NotationError):
        layers = hidden_layers(notation)
        assert len(layers) == notation.count("+") + 1


LEVEL_COUNTS = st.integers(2, 9), st.integers(2, 9)
SIZES = st.integers(1, 2), st.integers(1, 2), st.integers(1, 9)
CONVOLUTIONS = st.builds(Convolution, *SIZES, *LEVEL_COUNTS)
DENSE_LAYERS = st.builds(Dense, st.integers(1, 999), *LEVEL_COUNTS)


@given(st.lists(CONVOLUTIONS, max_size=3), st.lists(DENSE_LAYERS, min_size=1, max_size=3))
def test_what_is_written_is_read(convolutions: list[Layer], dense: list[Layer]) -> None:
    layers = [*convolutions, *dense]
    assert hidden_layers("+".join(map(written, layers))) == layers


@pytest.mark.parametrize(
    ("inputs", "shape"),
    [
        (25, (25,)),
        (np.int64(25), (25,)),
        ((25,), (25,)),
        ([5, 5], (1, 5, 5)),
        (np.array([3, 5, 5]), (3, 5, 5)),
    ],
)
def test_inputs_are_a_number_or_up_to_three_sizes(inputs: Any, shape: tuple[int, ...]) -> None:
    assert read_notation("fc(4)", inputs, 2)[0] == shape


@pytest.mark.parametrize("inputs", [(), (1, 2, 3, 4), None, 2.5])
def test_inputs_of_another_form_are_refused(inputs: Any) -> None:
    with pytest.raises(ShapeError, match=r"inputs must be a number of nodes, \(rows, columns\) or"):
        Topology.parse("fc(4)", inputs=inputs, outputs=2)


@pytest.mark.parametrize("inputs", [0, -5, True, (5, 0), (5, 2.5), "55"])
def test_input_sizes_are_whole_and_positive(inputs: Any) -> None:
    with pytest.raises(RangeError, match=r"inputs must be .*at least 1; got"):
        Topology.parse("fc(4)", inputs=inputs, outputs=2)


@pytest.mark.parametrize("outputs", [0, -1, 1.5, None, True])
def test_outputs_are_whole_and_positive(outputs: Any) -> None:
    with pytest.raises(RangeError, match=r"outputs must be .*at least 1; got"):
        Topology.parse("fc(4)", inputs=4, outputs=outputs)
