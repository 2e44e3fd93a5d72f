"""What a test needs of the machine: without it the test is skipped, and says why; in CI nothing is skipped."""

import os

import pytest


def need(lacking):
    """Go on when nothing is lacking; else skip the test, or fail it where the environment has CI set."""
    if lacking:
        reason = "; ".join(map(str, lacking))
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
