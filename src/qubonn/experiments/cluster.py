"""Workers of a Dask cluster.

Address -> Workers.  The only file that imports dask.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from qubonn.errors import MissingExtra, QubonnError, RangeError
from qubonn.experiments.workers import WorkersLost

RETRIES = 10  # of a run whose workers keep dying, before we give up
CONNECT_SECONDS = 30


class Cluster:
    """A Dask cluster: an address such as ``tcp://host:8786``, or ``local:N`` for N processes here.

    The workers need the same qubonn. Dask gives the runs of a dead worker to the others.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise MissingExtra.of("--cluster", "distributed", "distributed") from error
        self._local: Any = None
        if address.startswith("local:"):
            self._local = _local_cluster(distributed, address)
            address = self._local.scheduler_address
        try:
            self.client: Any = distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            self._close_local()
            raise QubonnError(f"no Dask scheduler answers at {address}: {error}") from error
        self._executor = self.client.get_executor(pure=False, retries=RETRIES)
        self._killed: type[Exception] = distributed.scheduler.KilledWorker

    def capacity(self) -> int:
        """Two runs for each worker process, as many as there are now: one going, one waiting."""
        return max(2 * len(self.client.ncores()), 1)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a run somewhere."""
        inner = self._executor.submit(function, *arguments)
        future: Future[Any] = Future()
        inner.add_done_callback(lambda done: self._pass_on(done, future))
        return future

    def restart(self) -> None:
        """Dask replaces its workers itself."""

    def close(self) -> None:
        """Cancel what is going and leave; a cluster of our own ends."""
        self._executor.shutdown(wait=False)
        self.client.close()
        self._close_local()

    def _pass_on(self, done: "Future[Any]", future: "Future[Any]") -> None:
        if done.cancelled():
            future.set_exception(WorkersLost("the cluster cancelled a run"))
            return
        error = done.exception()
        if isinstance(error, self._killed):
            future.set_exception(WorkersLost(f"workers of the cluster died: {error}"))
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())

    def _close_local(self) -> None:
        if self._local is not None:
            self._local.close()


def _local_cluster(distributed: Any, address: str) -> Any:
    count = address.removeprefix("local:")
    if not count.isdecimal() or int(count) < 1:
        raise RangeError(
            f"--cluster must be an address or local:N with N workers; got {address!r:.60}"
        )
    return distributed.LocalCluster(
        n_workers=int(count), threads_per_worker=1, processes=True, dashboard_address=None
    )
