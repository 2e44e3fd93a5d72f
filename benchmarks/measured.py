"""What one measured run tells: printed as JSON by the process that ran, read by the one that compares."""

import json
import sys
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Rows of the input, seconds without start-up, and the rows a second once the run is warm (None: too short)."""

    rows: int
    seconds: float
    steady: float | None

    def tell(self) -> None:
        """Print this as the last line of the process."""
        print(json.dumps(asdict(self)), flush=True)

    @classmethod
    def told(cls, output: str) -> "Measured":
        """Read what a process printed."""
        return cls(**json.loads(output.splitlines()[-1]))


def arguments() -> tuple[str, str]:
    """Give what a measured process is started with: the case and its folder."""
    _, case, folder = sys.argv
    return case, folder
