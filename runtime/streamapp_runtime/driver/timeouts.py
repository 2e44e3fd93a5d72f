"""The timeouts and retries of the driver."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The driver's timeouts, in seconds, and its limit of retries (docs/protocols.md, Replacement of a processor).

    `start`: until an incarnation reports for the first time; `report`: between two reports; `drain`: until it has made
    its last commit; `healthy`: after so long a failure is the first one again. A processor may fail `failures` times
    in a row; the first time it is restarted at once, then after `shortest` seconds, then twice as long each time, at
    most `longest`. `away`: until a system that does not answer must be back.
    """

    start: float = 60.0
    report: float = 10.0
    drain: float = 10.0
    healthy: float = 60.0
    failures: int = 6
    shortest: float = 0.25
    longest: float = 10.0
    away: float = 300.0

    def backoff(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
        return 0.0 if failures <= 1 else min(self.shortest * 2 ** (failures - 2), self.longest)

    def is_silent(self, now: float, started: float, last_report: float | None) -> bool:
        """Return whether an incarnation has been silent for too long; `last_report` is None if it never reported."""
        return now - started > self.start if last_report is None else now - last_report > self.report
