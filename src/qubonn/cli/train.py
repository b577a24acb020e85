"""``qubonn train``: a file of labelled examples -> model.qubonn, and how good it is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qubonn.cli.options import (
    DATA,
    EXISTING,
    Networks,
    TableOptions,
    model_option,
    network_options,
    reading_options,
    screen_options,
    seed_option,
)
from qubonn.cli.screen import Screen

if TYPE_CHECKING:
    from qubonn import QuboClassifier
    from qubonn.datasets import Table

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

import qubonn as qn
from qubonn.cli.screen import INTERRUPTED, NOT_REACHED, OK, TERMINATED
from qubonn.datasets import Table, read_table
from qubonn.datasets.files import kind_of
from qubonn.errors import AlphabetError, FitInterrupted, QubonnError, ShapeError


@click.command(
    epilog="""Examples:

\b
  qubonn train iris.csv --target species -o iris.qubonn
  qubonn train digits.csv -t label --image 8x8 --topology 'conv(3x3x4)+fc(32)' --time-limit 60
  qubonn train train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz \\
               --test t10k-images-idx3-ubyte.gz --test-labels t10k-labels-idx1-ubyte.gz
  qubonn train data.npz --test data.npz --at-least 0.9 --json

Ctrl-C keeps the networks that are trained, or the one in training as far as it is."""
)
@click.argument("data", type=DATA)
@reading_options
@network_options(hidden="64", margin=0.0, code="one_hot")
@click.option(
    "--committee", type=click.IntRange(1), default=10, show_default=True, help="Networks that vote."
)
@click.option(
    "--shifts",
    type=click.IntRange(0),
    metavar="PIXELS",
    help="Learn from images also moved by up to so many pixels; else by one, if large and few.",
)
@click.option(
    "--dropout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="The paper's dropout: train with this part of the neurons left out, in ten iterations.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="For all networks together.",
)
@seed_option
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Networks trained at the same time.",
)
@click.option(
    "--resume", is_flag=True, help="Keep the networks that are in OUT, train the missing ones."
)
@click.option("--test", type=EXISTING, help="A second file, to test on.")
@click.option("--test-labels", type=EXISTING, help="Its labels, where it is IDX.")
@click.option(
    "--test-share",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Part of each class to test on, where there is no --test.",
)
@click.option(
    "--at-least",
    type=click.FloatRange(0, 1),
    metavar="ACCURACY",
    help="End with 3 if accuracy is less, on the test if there is one.",
)
@model_option
@screen_options
def command(
    data: Path,
    table_options: TableOptions,
    networks: Networks,
    committee: int,
    shifts: int | None,
    dropout: float | None,
    time_limit: float | None,
    seed: int,
    jobs: int,
    resume: bool,
    test: Path | None,
    test_labels: Path | None,
    test_share: float,
    at_least: float | None,
    out: Path,
    screen: Screen,
) -> None:
    """Train on DATA: CSV, IDX or npz, gzipped or not; "-" is CSV from standard input.

    Numbers become spins, classes become outputs, and a committee of networks whose weights, biases
    and activations are all -1 or +1 is trained by annealing. Writes one small file.
    """  # fmt: skip
    learned = learning_table(data, table_options, screen)
    tested: Table | None
    if test is not None:
        tested = held_out_table(test, table_options, learned, test_labels)
    else:
        learned, tested = split(learned, test_share, seed)
    learned = some_per_class(learned, networks.per_class, seed)
    if shifts and networks.image is None and learned.inputs.ndim < 3:
        raise click.UsageError("--shifts needs images: say --image ROWSxCOLUMNS for rows of pixels")
    settings = {
        "committee_size": committee,
        "shifts": "auto" if shifts is None else shifts,
        "dropout": dropout,
        "time_limit": time_limit,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": screen.is_watched,
    }
    classifier = _classifier(networks, out if resume else None)
    classifier.set_params(**settings)
    end = fit(classifier, learned, screen)
    accuracy = report_training(screen, classifier, learned, tested, out)
    leave(screen, end, accuracy, at_least)


def _classifier(networks: Networks, earlier: Path | None) -> "QuboClassifier":
    """Return a classifier of the networks asked for, with the members of an earlier training."""
    import qubonn as qn

    settings: dict[str, Any] = {
        "hidden": networks.hidden,
        "topology": networks.topology,
        "image_shape": networks.image,
        "binariser": networks.binariser,
        "label_code": networks.code,
        "margin_strength": networks.margin,
    }
    if earlier is None:
        return qn.QuboClassifier(**settings)
    from qubonn.cli.predict import load_model

    model = load_model(earlier)
    if not isinstance(model.trained, qn.QuboClassifier):
        raise click.UsageError(f"--resume needs a classifier in {earlier}; it is a {model.kind}")
    classifier: QuboClassifier = model.trained
    classifier.set_params(**settings, warm_start=True)
    return classifier


MOST_CLASSES = 20  # of few examples; more of them are rather numbers to be predicted


def learning_table(path: Path, table_options: TableOptions, screen: Screen) -> Table:
    """Read examples with labels; say what was left out."""
    if kind_of(path) == "csv" and table_options.target is None:
        raise click.UsageError("a CSV file needs --target, the column of labels")
    if kind_of(path) == "idx" and table_options.labels is None:
        raise click.UsageError("an IDX file needs --labels, the file of labels")
    table = read_table(path, **options_of(table_options))
    if table.skipped_count:
        screen.note(f"{table.source}: {table.skipped_count} rows with missing values left out")
    _require_classes(table)
    return table


def held_out_table(
    path: Path, table_options: TableOptions, learned: Table, labels: Path | None
) -> Table:
    """Read examples to test on, with the same columns as those to learn from."""
    options = options_of(table_options) | {"labels": labels, "is_test": True}
    if kind_of(path) == "csv" and learned.names is not None:
        options |= {"keep": learned.names, "drop": ()}
    if kind_of(path) == "npz" and str(path) == learned.source:  # other arrays of the same file
        options |= {"inputs": None, "target": None}
    table = read_table(path, **options)
    if table.column_count != learned.column_count:
        raise ShapeError(
            f"{table.source} must have {learned.column_count} numbers for each example, as "
            f"{learned.source} has; got {table.column_count}"
        )
    classes = np.unique(learned.known_labels)
    return replace(table, labels=labels_among(classes, table, learned.source))


def labels_among(classes: NDArray[Any], table: Table, owner: object) -> NDArray[Any]:
    """Return the labels as the classes are written; refuse those of which none is a class.

    Classes may be text while the labels of one file happen to be whole numbers all.
    """
    labels = table.known_labels
    if classes.dtype.kind not in "biuf":
        labels = labels.astype(str)
    known = set(classes.tolist())
    if not any(label in known for label in np.unique(labels).tolist()):
        raise AlphabetError(
            f"{table.source} must have labels such as {classes.tolist()[0]!r:.60}, as {owner} has; "
            f"got {labels.tolist()[0]!r:.60}, and no other that is known"
        )
    return labels


def options_of(table_options: TableOptions) -> dict[str, Any]:
    """Return the options of `read_table`."""
    return {name: getattr(table_options, name) for name in TableOptions.__dataclass_fields__}


def split(table: Table, share: float, seed: int) -> tuple[Table, Table | None]:
    """Set a share of each class aside to test on; at least one of each stays to learn from."""
    chosen = _drawn(table, lambda count: min(round(share * count), count - 1), seed)
    if not chosen.any():
        return table, None
    return table.rows(np.flatnonzero(~chosen)), table.rows(np.flatnonzero(chosen))


def some_per_class(table: Table, count: int | None, seed: int) -> Table:
    """Keep so many examples of each class, or all where there are fewer."""
    if count is None:
        return table
    wanted = count
    return table.rows(np.flatnonzero(_drawn(table, lambda there: min(wanted, there), seed + 1)))


def _drawn(table: Table, how_many: Any, seed: int) -> NDArray[np.bool_]:
    """Mark examples of each class, drawn by the seed."""
    generator = np.random.default_rng(seed)
    labels = table.known_labels
    is_drawn = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = generator.permutation(np.flatnonzero(labels == label))
        is_drawn[members[: how_many(len(members))]] = True
    return is_drawn


def _require_classes(table: Table) -> None:
    labels = table.known_labels
    count = len(np.unique(labels))
    if count < 2:
        raise AlphabetError(
            f"{table.source} must have labels of at least two classes; all are {labels[0]!r:.60}"
        )
    if count > max(MOST_CLASSES, len(labels) // 2):
        raise AlphabetError(
            f"{table.source} must have labels that repeat, as classes do; got {count} different "
            f"ones in {len(labels)} examples: is {table.target!r:.60} a number to be predicted?"
        )


def fit(classifier: "qn.QuboClassifier", table: Table, screen: Screen) -> int:
    """Fit the classifier; return OK, INTERRUPTED or TERMINATED."""
    with _sigterm_as_ctrl_c() as is_terminated, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            classifier.fit(table.inputs, table.known_labels)
        except QubonnError:
            raise
        except ValueError as error:  # scikit-learn's own words
            raise AlphabetError(f"{table.source}: {error}") from error
    for warning in caught:
        if not issubclass(warning.category, FitInterrupted):
            screen.note(f"Note: {warning.message}")
    if classifier.is_interrupted_:
        complete = sum(member.is_complete for member in classifier.members_)
        screen.note(
            f"Interrupted: {complete} of {classifier.committee_size} networks are complete"
            + ("" if complete else "; the one in training is kept as far as it is")
            + ". The same command with --resume goes on"
        )
        return TERMINATED if is_terminated else INTERRUPTED
    return OK


def leave(screen: Screen, end: int, accuracy: float, at_least: float | None) -> None:
    """End the program with the code that says how it went."""
    if end == OK and at_least is not None and accuracy < at_least:
        screen.note(f"Accuracy {accuracy:.4f} is less than the {at_least:g} that was asked for")
        end = NOT_REACHED
    if end != OK:
        click.get_current_context().exit(end)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[bool]]:
    """Treat a polite kill as Ctrl-C; the list is filled when it came."""
    came: list[bool] = []

    def handle(number: int, frame: FrameType | None) -> NoReturn:
        came.append(True)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


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
