"""Do the jobs that are not done yet and commit each as it ends: jobs -> a full store.

Says on standard error what was found, and roughly how long the rest takes.
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

from fewshot.plan import Job
from fewshot.store import Result, Store


def complete(store: Store, jobs: Sequence[Job], title: str) -> None:
    missing = [job for job in jobs if store.get(job.key) is None]
    say(f"{title}: {len(jobs) - len(missing)} of {len(jobs)} trainings are done")
    for number, job in enumerate(missing, start=1):
        start = time.perf_counter()
        result = job.work()
        store.add(job.key, result, time.perf_counter() - start)
        left = seconds_left(store, missing[number:])
        found = f"{job.title}: {described(result)}"
        say(f"  {number}/{len(missing)}  {found}; {worded(left)} left")


def seconds_left(store: Store, jobs: Sequence[Job]) -> float:
    """Return a guess: each as long as those like it took; as the others, where there are none."""
    durations = [store.duration(job.key) for job in jobs]
    known = [duration for duration in durations if duration is not None]
    usual = float(np.mean(known)) if known else 0.0
    return sum(known) + usual * (len(durations) - len(known))


def described(result: Result) -> str:
    together = "" if result.committee is None else f", together {100 * result.committee:.1f} %"
    return f"{100 * result.single:.1f} %{together}, {result.seconds:.2f} s each"


def worded(seconds: float) -> str:
    return f"about {seconds / 60:.0f} min" if seconds > 90 else f"about {seconds:.0f} s"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
