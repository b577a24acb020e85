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
    from qubonn.cli.examples import held_out_table, learning_table, some_per_class, split
    from qubonn.cli.fitting import fit, leave
    from qubonn.cli.scores import report_training

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
    from qubonn.cli.models import load_model

    model = load_model(earlier)
    if not isinstance(model.trained, qn.QuboClassifier):
        raise click.UsageError(f"--resume needs a classifier in {earlier}; it is a {model.kind}")
    classifier: QuboClassifier = model.trained
    classifier.set_params(**settings, warm_start=True)
    return classifier
