"""What shows a difference is shrunk to what is needed for it, and to nothing else."""

import json
from itertools import count, islice

import pytest

from differential.random_apps import random_case
from differential.shrinking import describe, reductions, shrink
from streamapp_core.plan import plan
from streamapp_core.spec.parse import parse_text

KINDS = {
    "window": {"map", "partitionBy", "window", "sendTo"},
    "process": {"map", "partitionBy", "process", "sendTo"},
    "flatMap": {"map", "flatMap", "sendTo"},
    "aggregate": {"map", "partitionBy", "aggregate", "sendTo"},
    "join": {"map", "partitionBy", "join", "sendTo"},
}
"""Operators that are kept around one of a kind: what it needs, and what restores its columns."""
VALUE = 4


def accepted(case) -> bool:
    counts = {name: source.stages[0].partitions for name, source in case.sources.items()}
    return plan(parse_text(json.dumps(case.document)), counts).plan is not None


def has(case, kind: str) -> bool:
    """Return whether rows of an input with a certain value among them reach an operator of this kind."""
    reached = {name: {name} for name in case.sources}
    for operator in case.document["spec"]["operators"]:
        reads = operator["from"] if isinstance(operator["from"], list) else [operator["from"]]
        reached[operator["name"]] = set().union(*(reached[name] for name in reads))
        if kind in operator and any(row[3] == VALUE for name in reached[operator["name"]] for row in rows(case, name)):
            return True
    return False


def rows(case, source: str):
    return case.sources[source].rows


def examples(kind: str):
    """Return some random cases, accepted ones, in which rows reach an operator of a kind.

    A join of running results keeps two aggregates, and their last rows keep one, so these are in none of them.
    """
    cases = (random_case(7, number) for number in count())
    return islice((case for case in cases if has(case, kind) and not reads_results(case) and accepted(case)), 2)


def reads_results(case) -> bool:
    operators = case.document["spec"]["operators"]
    joins = any(operator["name"].startswith("joined-results-") for operator in operators)
    return joins or any("orderBy" in operator.get("over", {}) for operator in operators)


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_shrunk_to_one_operator_of_a_kind_and_one_row(kind):
    for case in examples(kind):
        smallest = shrink(case, lambda candidate: has(candidate, kind) and accepted(candidate), most=2_000)
        operators = smallest.document["spec"]["operators"]
        assert [kind in operator for operator in operators].count(True) == 1, describe(smallest)
        assert {name for operator in operators for name in operator if name not in {"name", "from"}} <= KINDS[kind]
        assert ["sendTo" in operator for operator in operators].count(True) == 1
        assert sum(len(source.rows) for source in smallest.sources.values()) == 1
        assert smallest.starts == ()
        assert smallest.document["spec"]["processors"]["count"] == 1
        assert accepted(smallest)


def test_reductions_make_a_case_smaller_and_leave_nothing_dangling():
    for number in range(15):
        for smaller in reductions(random_case(11, number)):
            spec = smaller.document["spec"]
            names = {operator["name"] for operator in spec["operators"]} | spec["streams"].keys()
            for operator in spec["operators"]:
                reads = operator["from"] if isinstance(operator["from"], list) else [operator["from"]]
                assert names.issuperset(reads)
            assert smaller.sources.keys() <= spec["streams"].keys()
            for source in smaller.sources.values():
                assert source.stages[-1].end == len(source.rows)
                assert [stage.end for stage in source.stages] == sorted(stage.end for stage in source.stages)
                assert all(stage.start <= len(smaller.starts) for stage in source.stages)


def test_a_case_stays_as_it_is_where_nothing_smaller_shows_the_difference():
    case = random_case(7, 0)
    assert shrink(case, lambda candidate: False) == case
