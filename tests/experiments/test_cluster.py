import os
import signal
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from experiments.tiny import native, results
from qubonn.errors import QubonnError, RangeError
from qubonn.experiments import cluster
from qubonn.experiments.cluster import Cluster
from qubonn.experiments.runner import Status, complete
from qubonn.experiments.store import Store
from qubonn.experiments.workers import InThisProcess


def test_a_cluster_gives_the_same_rows_also_when_a_worker_is_killed(tmp_path: Path) -> None:
    here, there, count = tmp_path / "here.sqlite", tmp_path / "there.sqlite", 40
    with Store.open(here, native()) as store:
        complete(store, count, InThisProcess())
    workers = Cluster("local:2")
    killed: list[int] = []

    def kill_one(status: Status) -> None:
        if status.done >= 5 and not killed:
            killed.append(next(iter(workers.client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    try:
        with Store.open(there, native()) as store:
            complete(store, count, workers, report=kill_one)
    finally:
        workers.close()
    assert killed
    assert results(here) == results(there)


@pytest.mark.parametrize("address", ["local:", "local:0", "local:two", "local:-1"])
def test_a_local_cluster_needs_a_number_of_workers(address: str) -> None:
    with pytest.raises(RangeError, match="--cluster must be an address or local:N"):
        Cluster(address)


def test_a_scheduler_that_does_not_answer_gets_one_clear_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(QubonnError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9")
