"""What a trained classifier is worth: accuracies, violations, margins, bytes.

Classifier, Tables -> lines on the screen, JSON, and the file of the model.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import qubonn as qn
from qubonn.cli.screen import Screen
from qubonn.datasets import Table

SHOWN_CLASSES = 12  # of a confusion table
MARGIN_EXAMPLES = 1000  # looked at for margins


def report_training(
    screen: Screen,
    classifier: "qn.QuboClassifier",
    learned: Table,
    tested: Table | None,
    out: Path,
) -> float:
    """Write the model, then say how good it is; return the accuracy that counts."""
    scores = {"training": _score(classifier, learned)}
    if tested is not None:
        scores["test"] = _score(classifier, tested)
    facts, document = network_facts(classifier)
    margins = _margins(classifier, learned)
    save_model(classifier, learned.names, out)
    members = classifier.members_
    screen.facts(
        [
            ("data", _described(learned, classifier)),
            *facts,
            *((f"{name} accuracy", _accuracy_text(*score)) for name, score in scores.items()),
            ("single networks", _range_text([member.accuracy for member in members])),
            ("violations", _violation_text(classifier, len(learned))),
            ("margins", f"S1 = {margins['s1']}, S2 = {margins['s2']} (best network)"),
            ("training took", f"{sum(member.seconds for member in members):.2f} s"),
            ("model", f"{out}, {out.stat().st_size:,} bytes"),
        ]
    )
    if tested is not None:
        _show_confusion(screen, classifier, tested)
    right, count = list(scores.values())[-1]
    screen.document(
        {
            "examples": len(learned),
            "columns": learned.column_count,
            "shift": classifier.shift_,
            "classes": [_plain(name) for name in classifier.classes_],
            **document,
            **{f"{name}_accuracy": right / count for name, (right, count) in scores.items()},
            "member_accuracies": [member.accuracy for member in members],
            "violation_count": classifier.violation_count_,
            "margins": margins,
            "is_interrupted": classifier.is_interrupted_,
            "model": str(out),
            "bytes": out.stat().st_size,
        }
    )
    return right / count


def network_facts(model: Any) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Say how large a network, a committee or a classifier is, for people and for programs."""
    trained = getattr(model, "committee_", model)
    members = trained.members if isinstance(trained, qn.Committee) else (trained,)
    topology = members[0].topology
    bits = len(members) * (topology.weight_count + topology.neuron_count)
    shape = repr(topology).removeprefix("Topology(").removesuffix(")")
    voters = f"{len(members)} networks vote" if len(members) > 1 else "one network"
    facts = [
        ("network", shape),
        ("committee", voters),
        ("parameters", f"{bits:,} weights and biases, a bit each: {-(-bits // 8):,} bytes"),
    ]
    document = {
        "topology": shape,
        "committee_size": len(members),
        "parameter_bits": bits,
    }
    return facts, document


def save_model(classifier: "qn.QuboClassifier", names: tuple[str, ...] | None, out: Path) -> None:
    """Write the model; it remembers the names of its columns."""
    if names is not None:
        # set last: scikit-learn wants such names with every later call, we match them ourselves
        classifier.feature_names_in_ = np.array(names, dtype=object)
    try:
        classifier.save(out)
    finally:
        if names is not None:
            del classifier.feature_names_in_


def confusion(
    classes: NDArray[Any], wanted: NDArray[Any], predicted: NDArray[Any]
) -> NDArray[np.int64]:
    """Return how often each wanted class (row) was taken for each class (column)."""
    place_of = {name: place for place, name in enumerate(classes.tolist())}
    table = np.zeros((len(classes), len(classes)), dtype=np.int64)
    for one, other in zip(wanted.tolist(), predicted.tolist(), strict=True):
        if one in place_of:
            table[place_of[one], place_of[other]] += 1
    return table


def _score(classifier: "qn.QuboClassifier", table: Table) -> tuple[int, int]:
    predicted = classifier.predict(table.inputs)
    return int((predicted == table.known_labels).sum()), len(table)


def _margins(classifier: "qn.QuboClassifier", table: Table) -> dict[str, int]:
    rows = table.inputs[:MARGIN_EXAMPLES].reshape(min(len(table), MARGIN_EXAMPLES), -1)
    best = min(classifier.members_, key=lambda member: member.violation_count)
    margins = best.network.margins(classifier.binariser_.encode(rows))
    return {"s1": int(margins.s1), "s2": int(margins.s2)}


def _described(table: Table, classifier: "qn.QuboClassifier") -> str:
    return (
        f"{table.source}: {len(table):,} examples to learn from, {table.column_count} columns, "
        f"{len(classifier.classes_)} classes{_moved_text(classifier.shift_)}"
    )


def _moved_text(shift: int) -> str:
    return f"; each also moved by up to {shift} pixel{'s' * (shift > 1)}" if shift else ""


def _accuracy_text(right: int, count: int) -> str:
    return f"{right / count:.4f}  ({right:,} of {count:,})"


def _range_text(accuracies: list[float]) -> str:
    low, high = min(accuracies), max(accuracies)
    alone = f"{low:.4f}" if len(accuracies) == 1 else f"{low:.4f} to {high:.4f}"
    return f"{alone} each, on the training examples"


def _violation_text(classifier: "qn.QuboClassifier", examples: int) -> str:
    outputs = examples * classifier.code_book_.spin_count
    text = f"{classifier.violation_count_:,} of {outputs:,} outputs in the best network"
    # outputs may all be negative, or several positive, while the right one is largest
    return text + ("; the largest one wins" if classifier.committee_.reading == "largest" else "")


def _show_confusion(screen: Screen, classifier: "qn.QuboClassifier", table: Table) -> None:
    classes = classifier.classes_
    if len(classes) > SHOWN_CLASSES:
        return
    counts = confusion(classes, table.known_labels, classifier.predict(table.inputs))
    screen.say("\nOn the test, rows are what is there, columns what was said:")
    screen.table(
        ["", *(str(name) for name in classes)],
        [[str(name), *row] for name, row in zip(classes, counts.tolist(), strict=True)],
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
