"""Stages: one progress for a run of many trainings.

Progress of one training -> progress of the whole run.
"""

from math import isfinite

from qubonn.stopping import Progress, Report, Watch


class Stages:
    """Passes on reports of iterations and, if there is one, a final training, as equal parts.

    Where nobody knows the number of iterations, the part is that of the time limit, or 0 until the
    final training.
    """

    def __init__(
        self, report: Report | None, watch: Watch, count: float | None, *, has_final: bool
    ) -> None:
        self._report, self._watch = report, watch
        self._count = None if count is None or not isfinite(count) else int(count)
        self._has_final = has_final
        self.is_asked_to_stop = False

    def report(self, number: int | None) -> Report | bool:
        """Return what iteration `number` reports to, or, for None, the final training."""
        if self._report is None:
            return False
        return lambda step: self._pass_on(number, step)

    def _pass_on(self, number: int | None, step: Progress) -> bool:
        assert self._report is not None
        part = self._part(number, step.part)
        answer = self._report(Progress(part, step.best_energy, self._watch.seconds))
        self.is_asked_to_stop = self.is_asked_to_stop or answer is True
        return self.is_asked_to_stop

    def _part(self, number: int | None, part: float) -> float:
        if self._count is not None:
            done = self._count if number is None else number
            return (done + part) / (self._count + self._has_final)
        if number is None:
            return part
        limit = self._watch.time_limit
        return 0.0 if limit is None else min(self._watch.seconds / limit, 1.0)
