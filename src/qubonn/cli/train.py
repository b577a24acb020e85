"""``qubonn train``: a file of labelled examples -> model.qubonn and its scores.

Read, split, fit, evaluate, save, report.
"""

import re
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import qubonn as qn
from qubonn.cli import options
from qubonn.cli.predict import load_model
from qubonn.cli.screen import INTERRUPTED, NOT_REACHED, OK, TERMINATED, WRITTEN, Screen
from qubonn.errors import AlphabetError, FitInterrupted, QubonnError, ShapeError

if TYPE_CHECKING:
    from qubonn.datasets import Table

MARGIN_EXAMPLES = 1000  # that margins are computed on
CLASS_AND_WEIGHT = re.compile(r"(.+?)=([^=,]+)(?:,|$)")  # a class may have commas


def _class_weight(text: str) -> str | dict[str, float]:
    if text == "balanced":
        return text
    pairs = CLASS_AND_WEIGHT.findall(text)
    try:
        weights = {name.strip(): float(weight) for name, weight in pairs}
    except ValueError:
        weights = {}
    is_whole_text = CLASS_AND_WEIGHT.sub("", text) == ""
    if not (weights and is_whole_text and all(0 < one < inf for one in weights.values())):
        raise click.BadParameter(
            f"must be balanced, or classes and positive weights such as yes=5,no=1; got {text!r}"
        )
    return weights


@dataclass(frozen=True, kw_only=True)
class Training:
    """How networks are trained, how many, and how long: arguments of `QuboClassifier`."""

    committee_size: int | str = options.option(
        "--committee",
        type=click.IntRange(1),
        metavar="NETWORKS",
        callback=lambda context, parameter, size: "auto" if size is None else size,
        help="Number of networks that vote.  [default: 10, or 1 without hidden layer]",
    )
    shifts: int | str = options.option(
        type=click.IntRange(0),
        metavar="PIXELS",
        callback=lambda context, parameter, pixels: "auto" if pixels is None else pixels,
        help="Also train on images shifted by up to PIXELS.  [default: 1 for few large images]",
    )
    dropout: float | None = options.option(
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="SHARE",
        help="The paper's dropout: drop this share of the neurons, in ten iterations.",
    )
    class_weight: str | dict[str, float] | None = options.option(
        type=_class_weight,
        metavar="balanced|CLASS=WEIGHT[,...]",
        help="Weights of classes, 1 if not named; balanced: rare classes count as much as others.",
    )
    time_limit: float | None = options.option(
        type=options.POSITIVE, metavar="SECONDS", help="Limit for all networks together."
    )
    random_state: int = options.option(
        "--seed", type=click.IntRange(0), default=0, help="Seed of all randomness."
    )
    n_jobs: int = options.option(
        "--jobs", type=click.IntRange(1), default=1, help="Networks trained at the same time."
    )


@dataclass(frozen=True, kw_only=True)
class Testing:
    """Which examples the committee is tested on, and the accuracy it must reach."""

    test: Path | None = options.option(type=options.EXISTING, help="File of test examples.")
    test_labels: Path | None = options.option(
        type=options.EXISTING, help="IDX file of labels of --test."
    )
    test_share: float = options.option(
        type=click.FloatRange(0, 1, max_open=True),
        default=0.2,
        help="Share of each class to test on, without --test.",
    )
    at_least: float | None = options.option(
        type=click.FloatRange(0, 1),
        metavar="ACCURACY",
        help="Exit with 3 if the accuracy, on the test if there is one, is lower.",
    )


@click.command(
    epilog="""Examples:

\b
  qubonn train iris.csv --target species -o iris.qubonn
  qubonn train digits.csv -t label --image 8x8 --topology 'conv(3x3x4)+fc(32)' --time-limit 60
  qubonn train train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz \\
               --test t10k-images-idx3-ubyte.gz --test-labels t10k-labels-idx1-ubyte.gz
  qubonn train data.npz --test data.npz --at-least 0.9 --json
  qubonn train churn.csv -t churn --class-weight yes=5,no=1

Ctrl-C keeps the trained networks, or the best state of the first one."""
)
@click.argument("data", type=options.DATA)
@options.reading
@options.gathered(
    "networks",
    options.Networks,
    hidden="auto",
    weight_levels="auto",
    threshold_levels="auto",
    label_code="one_hot",
)
@options.per_class
@options.gathered("training", Training)
@options.gathered("testing", Testing)
@click.option("--resume", is_flag=True, help="Keep the networks in OUT, train the missing ones.")
@options.model
@options.screen
def command(
    data: Path,
    reading: options.Reading,
    networks: options.Networks,
    per_class: int | None,
    training: Training,
    testing: Testing,
    resume: bool,
    out: Path,
    screen: Screen,
) -> None:
    """Train on a CSV, IDX or npz file; write a model.

    DATA may be gzipped; "-" is CSV from standard input. Numbers, words and missing cells become
    spins, classes become outputs, and a committee of networks whose weights, biases and activations
    are all -1 or +1 is trained by annealing.
    """
    train = reading.read_labelled(data, screen)
    test: Table | None
    if testing.test is not None:
        test = _test_table(testing.test, testing.test_labels, reading, train)
    else:
        train, test = train.split(testing.test_share, training.random_state)
        if test is None and testing.test_share > 0:
            screen.note("No test: there are too few examples of each class to hold some out")
    train = train.some_per_class(per_class, training.random_state)
    has_images = networks.image_shape is not None or train.inputs.ndim > 2
    if training.shifts not in (0, "auto") and not has_images:
        raise click.UsageError("--shifts needs images: pass --image ROWSxCOLUMNS for CSV files")
    weights = _weight_of_class(training.class_weight, train)
    classifier = _classifier(networks, out if resume else None)
    classifier.set_params(**vars(replace(training, class_weight=weights)), verbose=True)
    end = _fit(classifier, train, screen)
    classifier.set_params(verbose=False)  # in the file
    accuracy = _report(screen, classifier, train, test, out)
    if end == OK and testing.at_least is not None and accuracy < testing.at_least:
        screen.note(f"Accuracy {accuracy:.4f} is below the required {testing.at_least:g}")
        end = NOT_REACHED
    click.get_current_context().exit(end)


def network_facts(
    classifier: "qn.QuboClassifier",
) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Return the size of a classifier's networks, as facts and as JSON."""
    from qubonn.export import device_bytes

    members = classifier.committee_.members
    topology = members[0].topology
    bits = len(members) * (topology.weight_count + topology.neuron_count)
    shape = repr(topology).removeprefix("Topology(").removesuffix(")")
    facts = [
        ("network", shape),
        ("committee", f"{len(members)} networks vote" if len(members) > 1 else "one network"),
        ("parameters", f"{bits:,} weights and biases of -1 and +1"),
        ("size on a device", f"{(size := device_bytes(classifier)):,} bytes"),
    ]
    document = {"topology": shape, "committee_size": len(members), "parameter_bits": bits}
    return facts, document | {"device_bytes": size}


def save_model(classifier: "qn.QuboClassifier", names: tuple[str, ...] | None, out: Path) -> None:
    """Write the model with the names of its columns, even if Ctrl-C is pressed meanwhile."""
    import numpy as np

    if names is not None:
        classifier.feature_names_in_ = np.array(names, dtype=object)
    written = click.get_current_context().meta
    try:
        classifier.save(out)
    except KeyboardInterrupt:
        classifier.save(out)
        written[WRITTEN] = out
        raise
    written[WRITTEN] = out


def _test_table(
    path: Path, labels: Path | None, reading: options.Reading, train: "Table"
) -> "Table":
    """Read test examples with the columns of the training examples."""
    changes: dict[str, Any] = {"labels": labels, "is_test": True}
    kind = qn.datasets.kind_of(path)
    if kind == "csv" and train.names is not None:
        changes |= {"keep": train.names, "drop": (), "text": train.text}
    if kind == "npz" and str(path) == train.source:  # other arrays of the same file
        changes |= {"inputs": None, "target": None}
    table = reading.read(path, **changes)
    if table.column_count != train.column_count:
        raise ShapeError(
            f"{table.source} must have {train.column_count} numbers for each example, as "
            f"{train.source} has; got {table.column_count}"
        )
    return replace(table, labels=table.labels_among(train.known_labels, train.source))


def _weight_of_class(given: Any, table: "Table") -> Any:
    """Return weights by the labels of a table, which may be numbers; other settings unchanged."""
    if not isinstance(given, dict):
        return given
    label_of = {str(label): label for label in dict.fromkeys(table.known_labels.tolist())}
    if unknown := given.keys() - label_of.keys():
        raise click.UsageError(
            f"--class-weight must name classes of {table.source}, "
            f"{', '.join(sorted(label_of)):.60}; got {min(unknown)!r:.60}"
        )
    return {label_of[name]: weight for name, weight in given.items()}


def _classifier(networks: options.Networks, earlier: Path | None) -> "qn.QuboClassifier":
    """Return a classifier for these networks, with the members of an earlier training if any."""
    if earlier is None:
        return qn.QuboClassifier(**vars(networks))
    model = load_model(earlier)
    classifier = model.trained
    if not isinstance(classifier, qn.QuboClassifier):
        raise click.UsageError(f"--resume needs a classifier in {earlier}; it is a {model.kind}")
    classifier.set_params(**vars(networks), warm_start=True)
    return classifier


def _fit(classifier: "qn.QuboClassifier", table: "Table", screen: Screen) -> int:
    """Fit the classifier; return OK, or after a signal INTERRUPTED or TERMINATED."""
    with _sigterm_as_ctrl_c() as signals, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            classifier.fit(table.inputs, table.known_labels)
        except QubonnError:
            raise
        except ValueError as error:  # from scikit-learn
            raise AlphabetError(f"{table.source}: {error}") from error
    for warning in (one for one in caught if not issubclass(one.category, FitInterrupted)):
        screen.note(f"Note: {warning.message}")
    if not classifier.is_interrupted_:
        return OK
    complete = sum(member.is_complete for member in classifier.members_)
    screen.note(
        f"Interrupted: {complete} of {_size(classifier)} networks are complete"
        + ("" if complete else "; the best state of the first one is kept")
        + ". The same command with --resume continues"
    )
    return TERMINATED if signals else INTERRUPTED


def _size(classifier: Any) -> int:
    """Return the number of networks that were to be trained."""
    from qubonn.estimator.designs import PLAIN

    return int((classifier.design_ or PLAIN).size_of(classifier.committee_size))


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Handle SIGTERM as Ctrl-C; the list is filled when it arrives."""
    received: list[int] = []

    def handle(number: int, frame: object) -> None:
        received.append(number)
        signal.raise_signal(signal.SIGINT)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, handle) if is_main else None
    try:
        yield received
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)


def _report(
    screen: Screen, classifier: "qn.QuboClassifier", train: "Table", test: "Table | None", out: Path
) -> float:
    """Write and evaluate the model, print its scores; return the accuracy, on the test if any."""
    save_model(classifier, train.names, out)
    if hasattr(classifier, "feature_names_in_"):  # scikit-learn would require these names
        del classifier.feature_names_in_
    tables = {"training": train} | ({} if test is None else {"test": test})
    predicted = {name: classifier.predict(table.inputs) for name, table in tables.items()}
    right = {name: int((predicted[name] == tables[name].known_labels).sum()) for name in tables}
    accuracies = {name: right[name] / len(table) for name, table in tables.items()}
    facts, document = network_facts(classifier)
    classes, rows = classifier.classes_, train.inputs[:MARGIN_EXAMPLES]
    best = min(classifier.members_, key=lambda member: member.violation_count)
    margins = best.network.margins(classifier.binariser_.encode(rows.reshape(len(rows), -1)))
    data, *members = _training_facts(classifier, train)
    screen.facts(
        data,
        *facts,
        *(
            (f"{name} accuracy", f"{accuracies[name]:.4f}  ({right[name]:,} of {len(table):,})")
            for name, table in tables.items()
        ),
        *members,
        ("margins", f"S1 = {margins.s1}, S2 = {margins.s2} (best network)"),
        ("model", f"{out}, {out.stat().st_size:,} bytes"),
    )
    if test is not None:
        screen.confusion("Test examples", classes, test.known_labels, predicted["test"])
    screen.document(
        examples=len(train),
        columns=train.column_count,
        shift=classifier.shift_,
        classes=classes.tolist(),
        **document,
        **{f"{name}_accuracy": accuracy for name, accuracy in accuracies.items()},
        member_accuracies=[member.accuracy for member in classifier.members_],
        violation_count=classifier.violation_count_,
        margins={"s1": int(margins.s1), "s2": int(margins.s2)},
        is_interrupted=classifier.is_interrupted_,
        model=str(out),
        bytes=out.stat().st_size,
    )
    return accuracies["training" if test is None else "test"]


def _training_facts(classifier: "qn.QuboClassifier", table: "Table") -> list[tuple[str, str]]:
    """Return the size of the training data, and the results of the single networks."""
    shift, members = classifier.shift_, classifier.members_
    shifted = f"; each also shifted by up to {shift} pixel{'s' * (shift > 1)}" if shift else ""
    shape = f"{len(table):,} training examples, {table.column_count} columns"
    each = sorted(member.accuracy for member in members)
    alone = f"{each[0]:.4f}" if len(each) == 1 else f"{each[0]:.4f} to {each[-1]:.4f}"
    weighted = "" if classifier.class_weight is None else ", weighted by class"
    outputs = len(table) * classifier.code_book_.spin_count
    violations = f"{classifier.violation_count_:,} of {outputs:,} outputs in the best network"
    if classifier.committee_.reading == "largest":
        # outputs may all be negative, or several positive, while the right one is the largest
        violations += "; the largest one wins"
    return [
        ("data", f"{table.source}: {shape}, {len(classifier.classes_)} classes{shifted}"),
        ("single networks", f"{alone} on the training examples{weighted}"),
        ("violations", violations),
        ("training time", f"{sum(member.seconds for member in members):.2f} s"),
    ]
