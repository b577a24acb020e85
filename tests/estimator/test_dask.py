"""A committee trained on a real cluster, by joblib's own switch."""

import joblib
import pytest
from sklearn.datasets import load_iris

import qubonn as qn

distributed = pytest.importorskip("distributed")


def test_a_dask_cluster_trains_the_same_committee() -> None:
    X, y = load_iris(return_X_y=True)
    classifier = qn.QuboClassifier(8, committee_size=4, random_state=0)
    here = classifier.fit(X, y).committee_
    with (
        distributed.LocalCluster(
            processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        there = classifier.fit(X, y).committee_
        work = client.run(lambda dask_worker: dask_worker.state.transition_counter)
    assert there == here
    assert sum(work.values()) > 0  # the workers did it
