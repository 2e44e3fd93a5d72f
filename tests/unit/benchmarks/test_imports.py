"""Benchmarks run by hand only: each can at least be imported."""

from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "benchmarks"
ELSEWHERE = {"__main__", "kafka_quix"}
"""The program itself, and what runs in an environment of another library."""


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ELSEWHERE))
def test_a_benchmark_can_be_imported(name):
    import_module(f"benchmarks.{name}")
