"""The figures of one measured run: printed as JSON by the process that ran, read by the one that compares."""

import json
import sys
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds without start-up, and the rows a second once the run is warm (None: it was over too soon)."""

    seconds: float
    steady: float | None

    def print(self) -> None:
        """Print this."""
        print(json.dumps(asdict(self)), flush=True)

    @classmethod
    def parse(cls, output: str) -> "Measured":
        """Read what a process printed."""
        return cls(**json.loads(next(line for line in output.splitlines() if line.startswith('{"seconds"'))))


def arguments() -> tuple[str, str]:
    """Return the arguments of a measured process: the case and its folder."""
    _, case, folder = sys.argv
    return case, folder
