"""The planner as the Kubernetes operator calls it: verdicts, and when they are remembered."""

from dataclasses import replace

import pytest

from streamapp_core.problems import ProblemCode
from streamapp_operator.decide.validation import CachingPlanner, PlanVerdict, parse_accepted_app, plan_app
from support.observed_values import (
    COUNTS,
    EDITED,
    GROWN,
    REFUSED,
    SHOP,
    bound_model,
    plan_request,
    resource,
    unbound_model,
)
from support.operated import BROKEN, SENT

OTHER_STATE = resource(operators=[{**BROKEN[0], "aggregate": {"by": ["item"], "select": "max(item) as last"}}, SENT])
OTHER_FOLDER = resource(processors={"count": 2, "state": {"hostPath": "/var/lib/streamapp/elsewhere"}})
MODEL = unbound_model()


@pytest.mark.parametrize(
    "request_, codes",
    [
        (plan_request(), set()),
        (plan_request(REFUSED), {ProblemCode.UNKNOWN_COLUMN}),
        (plan_request(resource(systems=7)), {ProblemCode.INVALID_SPEC}),
        (plan_request(counts={}), {ProblemCode.STREAM_NOT_FOUND}),
        (plan_request(EDITED, previous=SHOP, model=MODEL), set()),
        (plan_request(counts=GROWN, model=MODEL), set()),
        (plan_request(counts={**COUNTS, "orders": 6}, model=MODEL), {ProblemCode.UNSUPPORTED_EXPANSION}),
        (plan_request(counts={**COUNTS, "orders": 2}, model=MODEL), {ProblemCode.PARTITION_COUNT_SHRUNK}),
        (plan_request(OTHER_STATE, previous=SHOP, model=MODEL), {ProblemCode.RUN_ID_REQUIRED}),
        (plan_request(OTHER_FOLDER, previous=SHOP, model=MODEL), set()),
        (plan_request(resource(spark={"conf": {"spark.log.level": "INFO"}}), previous=SHOP, model=MODEL), set()),
        (plan_request(resource(spark={"packages": ["a:b:1"]})), {ProblemCode.NOT_SUPPORTED}),
        (plan_request(resource(spark={"conf": {"spark.plugins": "x"}})), {ProblemCode.SPARK_PROPERTY_REFUSED}),
    ],
    ids=[
        "first",
        "unknown column",
        "no spec at all",
        "no such stream",
        "edited",
        "grown",
        "grown to no multiple",
        "shrunk",
        "another state",
        "another folder",
        "a property of Spark",
        "jars from a repository",
        "a plugin of Spark",
    ],
)
def test_a_verdict_is_a_plan_or_all_problems(request_, codes):
    verdict = plan_app(request_)
    assert {problem.code for problem in verdict.problems} == codes
    assert (verdict.plan is None) == bool(codes)


def test_a_problem_that_both_plan_and_edit_have_is_named_once():
    problems = plan_app(plan_request(OTHER_STATE, previous=SHOP, model=MODEL)).problems
    assert len({(problem.path, problem.code) for problem in problems}) == len(problems)


def test_an_accepted_text_that_can_t_be_read_any_more_is_an_error():
    assert parse_accepted_app(SHOP.text).metadata.name == "shop"
    with pytest.raises(ValueError, match="an earlier release accepted it"):
        parse_accepted_app(resource(systems=7).text)


class TestCache:
    REQUEST = plan_request(model=MODEL)

    @pytest.mark.parametrize(
        "request_, times",
        [
            (REQUEST, 1),
            (replace(REQUEST, model=bound_model(node0="a", node1="b")), 1),
            (replace(REQUEST, model=None), 2),
            (replace(REQUEST, model=unbound_model(counts=GROWN)), 2),
            (replace(REQUEST, model=MODEL.model_copy(update={"run_id": "r2"})), 2),
            (replace(REQUEST, text=EDITED.text), 2),
            (replace(REQUEST, counts={}), 2),
            (replace(REQUEST, previous=SHOP.text), 2),
            (replace(REQUEST, run_id="r2"), 2),
        ],
        ids=[
            "the same",
            "other executors",
            "no job model",
            "other partitions",
            "another run's job model",
            "another text",
            "other counts",
            "another previous text",
            "another run",
        ],
    )
    def test_a_request_is_planned_again_only_if_the_verdict_may_differ(self, request_, times):
        planned = []
        planner = CachingPlanner(lambda request: (planned.append(request), PlanVerdict(problems=(), plan=None))[1])
        planner(self.REQUEST)
        planner(request_)
        assert len(planned) == times
