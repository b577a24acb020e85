"""Parts of models, and models that cannot be exported."""

from pathlib import Path

import numpy as np
import pytest

import qubonn as qn
from export.models import FittedClassifier, committee
from qubonn.errors import TopologyError
from qubonn.export.model import exported


def test_evidence_is_fair_and_sums_fit_into_32_bits() -> None:
    book = qn.CodeBook(["a", "b"], [[1] * 500, [-1] * 500])
    members = committee(qn.Topology.dense(1, 500), 100)
    classes = exported(FittedClassifier(members, book)).classes
    assert classes is not None
    assert classes.evidence is not None
    assert (classes.evidence == -classes.evidence[::-1]).all()
    assert (np.diff(classes.evidence) > 0).all()
    assert 2**29 <= 500 * int(classes.evidence[-1]) < 2**30


def test_an_unfitted_quboclassifier_is_refused() -> None:
    with pytest.raises(TopologyError, match="got QuboClassifier: call its fit first"):
        qn.to_c(qn.QuboClassifier())


def test_a_network_with_a_cycle_is_refused(tmp_path: Path) -> None:
    topology = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    network = qn.BinaryNetwork.random(topology, seed=0)
    with pytest.raises(TopologyError, match="must have no cycles; arc 2 -> 1 closes one"):
        qn.to_c(network, tmp_path / "model.h")
    assert not list(tmp_path.iterdir())


def test_a_network_without_inputs_is_refused() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.from_arcs([], inputs=0, outputs=1), seed=0)
    with pytest.raises(TopologyError, match="at least one input"):
        qn.to_c(network)


def test_what_is_no_model_is_refused_with_a_hint() -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(1, 1), [[1]], [[1]])
    with pytest.raises(TopologyError, match=r"got TrainingResult: give its \.network"):
        qn.to_c(qn.train(problem, seed=0))
    with pytest.raises(TopologyError, match=r"a fitted QuboClassifier; got int$"):
        qn.to_c(3)
