"""Runs the vectors of `plan.json` through the planner."""

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan import Plan, PlanResult, plan
from streamapp_core.problems import Problem
from streamapp_core.spec.parse import parse_document


def run(vector):
    """Plan the vector's app and compare what it expects."""
    counts = {name: stream["partitions"] for name, stream in vector["streams"].items()}
    previous = JobModel.model_validate(vector["previous"]) if "previous" in vector else None
    result = plan(parse_document(vector["app"]), counts, previous)
    _compare(result, vector["expect"])


def _compare(result: PlanResult, expect) -> None:
    shown = "\n".join(map(str, result.problems)) or "no problems"
    assert (result.plan is not None) == expect["accepted"], shown
    assert (result.plan is None) == bool(result.problems)
    if result.plan is not None:
        _compare_plan(result.plan, expect)
    for wanted in expect.get("problems", []):
        assert any(_matches(problem, wanted) for problem in result.problems), f"{wanted} is not among\n{shown}"
    if expect.get("noOtherProblems"):
        others = [p for p in result.problems if not any(_matches(p, wanted) for wanted in expect["problems"])]
        assert not others, "\n".join(map(str, others))


def _compare_plan(planned: Plan, expect) -> None:
    for name, wanted in expect.get("streams", {}).items():
        stream = planned.streams[name]
        found = {
            "partitions": stream.partitions,
            "rule": str(stream.rule),
            "initialPartitions": stream.initial_partitions,
        }
        assert {field: found[field] for field in wanted} == wanted, name
    if "joinGroups" in expect:
        found_groups = {(group.operator, frozenset(group.streams)) for group in planned.join_groups}
        assert found_groups == {(group["operator"], frozenset(group["streams"])) for group in expect["joinGroups"]}
    if "mode" in expect:
        assert str(planned.mode) == expect["mode"]


def _matches(problem: Problem, wanted) -> bool:
    paths = wanted.get("pathAnyOf", [wanted.get("path", problem.path)])
    return problem.code == wanted["code"] and problem.path in paths
