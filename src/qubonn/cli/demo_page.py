"""The demo as one HTML page that needs nothing else: light and dark, wide and narrow.

Demonstration -> text.
"""

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

import qubonn as qn
from qubonn.cli.demo import MARGIN, Demonstration
from qubonn.cli.page_style import STYLE
from qubonn.cli.svg import bars, curves, spin_image
from qubonn.cli.train import confusion
from qubonn.drawing.figures import input_images


def demo_page(shown: Demonstration, out: Path, picture: bytes) -> str:
    """Return the page; `picture` is a PNG of the network."""
    title = f"Network {shown.number} learns four letters"
    best = shown.ways[-1]
    sections = [
        ("Four letters", _letters(shown)),
        ("The network", _network(shown, picture)),
        ("What its neurons say", _activations(shown)),
        ("The energy falls", _energy(shown)),
        ("One network, margins, a committee", _ways(shown)),
        ("The 40 test images", _test(shown)),
        ("Right and wrong", _confusions(shown)),
        ("The certificate", _certificate(shown)),
        ("What to try next", _next(out)),
    ]
    body = "\n".join(f"<section><h2>{escape(head)}</h2>{text}</section>" for head, text in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{escape(title)}</h1>
<p>Every weight, bias and activation is -1 or +1. It was trained on four images by minimising an
energy, in {1e3 * shown.margin.seconds:.0f} ms; {len(shown.voters)} networks of that run vote, and
read {best.accuracy:.0%} of forty images that they have not seen. Made by
<code>qubonn demo</code>.</p></header>
<main>
{body}
</main>
</body>
</html>
"""


def _letters(shown: Demonstration) -> str:
    letters = shown.letters
    cards = [
        _card(spin_image(image.reshape(letters.image_shape), str(label), 18),
              f"<b>{escape(str(label))}</b> {_signs(output)}")
        for image, label, output in zip(
            letters.train_inputs, letters.train_labels, letters.train_outputs, strict=True
        )
    ]  # fmt: skip
    return (
        "<p>One training image each, and the two outputs that stand for the letter. A test image "
        f'is one of these with two pixels inverted.</p><div class="cards">{"".join(cards)}</div>'
    )


def _network(shown: Demonstration, picture: bytes) -> str:
    network = shown.margin.result.network
    count = network.topology.weight_count + network.topology.neuron_count
    images = input_images(network)
    weights = ""
    if images is not None:
        cards = [
            _card(spin_image(image, f"weights of neuron {number + 1}", 16), f"neuron {number + 1}")
            for number, image in enumerate(images)
        ]
        weights = (
            "<h3>Weights as images</h3><p>Blue pixels speak for the neuron, orange ones against "
            f'it; neurons that share their weights are shown once.</p><div class="cards">'
            f"{''.join(cards)}</div>"
        )
    source = f"data:image/png;base64,{b64encode(picture).decode('ascii')}"
    notation = qn.paper.NOTATIONS[shown.number]
    return (
        f"<p>Network {shown.number} of the paper, <code>{escape(notation)}</code>: {count} weights "
        f"and biases, a bit each, {-(-count // 8)} bytes.</p>"
        f'<div class="paper"><img alt="The network, arcs coloured by weight" src="{source}"></div>'
        f"{weights}"
    )


def _activations(shown: Demonstration) -> str:
    network, letters = shown.margin.result.network, shown.letters
    done = network.forward(letters.train_inputs)
    hidden = network.topology.hidden_count
    names = [f"hidden {n + 1}" for n in range(hidden)]
    names += [f"output {n + 1}" for n in range(network.topology.output_count)]
    most = 20
    heads = "".join(f"<th>{escape(name)}</th>" for name in ["", *names[-most:]])
    rows = "".join(
        f"<tr><th>{escape(str(label))}</th>"
        + "".join(f'<td class="{"plus" if sum_ > 0 else "minus"}">{sum_:+d}</td>' for sum_ in sums)
        + "</tr>"
        for label, sums in zip(
            letters.train_labels, done.pre_activations[:, -most:].tolist(), strict=True
        )
    )
    return (
        "<p>Bias plus weighted sum of each neuron for each letter. Blue is a positive sum, which "
        "fires +1; orange fires -1, and so does a sum of 0. One wrong input moves a sum by 2, so "
        "numbers far from zero are safe: that is what the margin reward pays for.</p>"
        '<div class="scroll" tabindex="0"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _energy(shown: Demonstration) -> str:
    drawn = curves(
        [
            ("without margins", shown.plain.sweeps, shown.plain.energies),
            (f"margins {MARGIN:g}", shown.margin.sweeps, shown.margin.energies),
        ],
        "sweeps",
        "lowest energy of all replicas",
    )
    return (
        "<p>All replicas cool down side by side. Without margins, energy 0 is a network that "
        "satisfies every constraint; the margin reward goes below.</p>"
        f"<figure>{drawn}</figure>"
    )


def _ways(shown: Demonstration) -> str:
    drawn = bars([(way.name, way.accuracy) for way in shown.ways], "accuracy on the test images")
    items = "".join(
        f"<li><b>{escape(way.name)}</b>: {escape(way.explanation)}</li>" for way in shown.ways
    )
    return f"<p>Accuracy on the test images.</p><figure>{drawn}</figure><ul>{items}</ul>"


def _test(shown: Demonstration) -> str:
    letters = shown.letters
    said = shown.predicted(letters.test_inputs, shown.voters)
    cards = [
        _card(spin_image(image.reshape(letters.image_shape), f"test image {number + 1}", 9),
              escape(one) if one == wanted else f"<b>{escape(one)}</b>, is {escape(str(wanted))}",
              "right" if one == wanted else "wrong")
        for number, (image, one, wanted) in enumerate(
            zip(letters.test_inputs, said, letters.test_labels, strict=True)
        )
    ]  # fmt: skip
    wrong = sum(one != wanted for one, wanted in zip(said, letters.test_labels, strict=True))
    return (
        f"<p>What the committee reads; {wrong} of {len(said)} are wrong.</p>"
        f'<div class="cards small">{"".join(cards)}</div>'
    )


def _confusions(shown: Demonstration) -> str:
    pairs: list[tuple[str, qn.BinaryNetwork | qn.Committee]] = [
        ("One network, as in the paper", shown.plain.result.network),
        (f"{len(shown.voters)} networks vote", shown.voters),
    ]
    tables = "".join(
        f"<figure><figcaption>{escape(name)}</figcaption>{_confusion(shown, voter)}</figure>"
        for name, voter in pairs
    )
    return f'<p>Rows are what is there, columns what was said.</p><div class="cards">{tables}</div>'


def _confusion(shown: Demonstration, voter: "qn.BinaryNetwork | qn.Committee") -> str:
    letters = shown.letters
    classes = np.array(letters.classes)
    said = np.array(shown.predicted(letters.test_inputs, voter))
    counts = confusion(classes, letters.test_labels, said)
    heads = "".join(f"<th>{escape(str(name))}</th>" for name in classes)
    rows = "".join(
        f"<tr><th>{escape(str(name))}</th>"
        + "".join(
            f'<td class="{_heat(row == column, count)}">{count or ""}</td>'
            for column, count in enumerate(line)
        )
        + "</tr>"
        for row, (name, line) in enumerate(zip(classes, counts.tolist(), strict=True))
    )
    return f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _heat(is_right: bool, count: int) -> str:
    return "" if not count else "good" if is_right else "bad"


def _certificate(shown: Demonstration) -> str:
    plain = shown.plain
    problem, network = plain.posed.problem, plain.result.network
    certificate = problem.certify(network)
    energy = problem.qubo().energy(problem.encode(network))
    verdict = "satisfies" if certificate.is_feasible else "does not satisfy"
    broken = "".join(f"<li>{escape(str(one))}</li>" for one in list(certificate.violations)[:5])
    return (
        f"<p>The best network without margins {verdict} all {problem.size.constraints} constraints "
        f"of the paper: H1 = {certificate.terms.activation}, H2 = {certificate.terms.product}. "
        "Written out as an assignment of all "
        f"{problem.size.qubo_variables} bits of its QUBO, it has energy {energy:g}.</p>"
        f"<ul>{broken}</ul>"
    )


def _next(out: Path) -> str:
    from qubonn.cli.demo import next_steps

    lines = "\n".join(escape(line) for line in next_steps(out)[1:])
    return f"<pre>{lines}</pre>"


def _card(drawing: str, caption: str, kind: str = "") -> str:
    return f'<figure class="card {kind}">{drawing}<figcaption>{caption}</figcaption></figure>'


def _signs(spins: Sequence[int]) -> str:
    return " ".join(f"{int(spin):+d}" for spin in spins)
