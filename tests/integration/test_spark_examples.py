"""Spark's own documented examples of its functions give Spark's results, or are refused before anything runs."""

import pytest
from benchmarks.spark_examples import Verdict, judged_examples

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

LEAST_RIGHT = 979


def test_no_documented_example_gives_another_result_than_sparks():
    examples = list(judged_examples())
    assert [example for example in examples if example.verdict is Verdict.WRONG] == []
    assert sum(example.verdict is Verdict.RIGHT for example in examples) >= LEAST_RIGHT
