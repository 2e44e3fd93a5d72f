"""No expression takes memory or time without a bound, whatever a row holds."""

import os
import subprocess
import sys

import pytest

MEMORY, SECONDS = 4 << 30, 300
"""Several times what it takes: a loaded machine counts more seconds for the same work."""


@pytest.mark.timeout(1_800)
def test_every_function_ends_within_bounds_over_long_texts_and_arrays():
    run = subprocess.run(
        [sys.executable, "-m", "support.hostile_rows", str(MEMORY), str(SECONDS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.endswith("done\n"), f"at {run.stdout.splitlines()[-1:]}: {run.returncode} {run.stderr[-1000:]}"
