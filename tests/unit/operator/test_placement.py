import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.driver_reports import LocalityReport
from streamapp_core.job_model.job_model import ProcessorModel
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_document
from streamapp_core.spec.processors import LocationBy, ProcessorsSpec
from streamapp_operator.decide.location_ids import find_location, find_location_id
from streamapp_operator.decide.placement import find_live_executors, place
from streamapp_operator.decide.task_assignment import apply_locality, assign_tasks, unbound_processors
from streamapp_operator.observe.observed_state import AppMemory, Observed, StreamCounts
from streamapp_operator.observe.resource_views import AppKey, AppResource, Pod, PodPhase
from support.operated import SHOP

NOW = datetime(2025, 1, 1, tzinfo=UTC)
PATIENCE = timedelta(seconds=30)
NODES = {"state": {"hostPath": "/state"}}


def shop_plan(partitions=8):
    document = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "shop"}}
    parsed = parse_document({**document, "spec": yaml.safe_load(SHOP)})
    return plan(parsed, {"orders": partitions, "totals": 1}, run_id="r1").plan


def executor(number, node, **fields):
    return Pod(
        name=f"shop-1-exec-{number}",
        uid=f"uid-{number}",
        role="processor",
        epoch=1,
        phase=fields.pop("phase", PodPhase.RUNNING),
        created_at=NOW,
        node=node,
        executor=str(number),
        **fields,
    )


def observed(*pods, missing_since=None, now=NOW):
    app = AppResource(
        key=AppKey(namespace="default", name="shop"),
        uid="u",
        version="1",
        generation=1,
        spec={},
        status={},
        text="",
        deleting=False,
        finalizers=(),
    )
    memory = AppMemory(executors_missing_since=missing_since)
    return Observed(app=app, now=now, fresh_run_id="r1", counts=StreamCounts(), pods=pods, memory=memory)


def placed_on(*pods, model, wanted, missing_since=None, now=NOW):
    seen = observed(*pods, missing_since=missing_since, now=now)
    executors = find_live_executors(seen, 1, find_location(ProcessorsSpec.model_validate(NODES)))
    return place(model, executors, wanted, now=now, missing_since=missing_since, timeout=PATIENCE)


def placed(model, *nodes, numbers=None):
    """Give the model after executors have come up on nodes."""
    pods = [executor(number, node) for number, node in zip(numbers or range(1, 1000), nodes, strict=False)]
    return assign_tasks(shop_plan(), model, placed_on(*pods, model=model, wanted=len(nodes)).bindings, NOW)


def opened(model):
    """Give the model after all tasks have opened their state where they are."""
    locations = {}
    for task in model.tasks.values():
        locations.setdefault(model.processors[task.processor].location, []).append(task.changelog_partition)
    return apply_locality(model, LocalityReport(run_id="r1", epoch=1, locations=locations))


@pytest.fixture
def fresh():
    return assign_tasks(shop_plan(), None, unbound_processors(2), NOW)


def test_processors_get_the_executors_that_run(fresh):
    model = placed(fresh, "node-a", "node-b")
    assert {id_: (p.executor, p.location) for id_, p in model.processors.items()} == {
        "0": ("1", "node-a"),
        "1": ("2", "node-b"),
    }
    assert model.version == fresh.version + 1


def test_nothing_changes_as_long_as_they_live(fresh):
    model = placed(fresh, "node-a", "node-b")
    assert placed(model, "node-a", "node-b") is model


def test_a_driver_waits_for_all_of_its_executors(fresh):
    placement = placed_on(executor(1, "node-a"), model=fresh, wanted=2)
    assert placement.bindings == fresh.processors
    assert placement.wake_at == NOW + PATIENCE


def test_after_a_while_those_that_live_take_over_the_tasks(fresh):
    model = placed(fresh, "node-a", "node-b")
    late = NOW + PATIENCE
    placement = placed_on(executor(2, "node-b"), model=model, wanted=2, missing_since=NOW, now=late)
    after = assign_tasks(shop_plan(), model, placement.bindings, late)
    assert {task.processor for task in after.tasks.values()} == {"1"}
    assert placement.wake_at is None


def test_a_lost_executor_is_replaced_without_touching_the_others(fresh):
    model = opened(placed(fresh, "node-a", "node-b"))
    placement = placed_on(executor(2, "node-b"), executor(3, "node-a"), model=model, wanted=2)
    after = assign_tasks(shop_plan(), model, placement.bindings, NOW)
    assert after.processors["1"] == model.processors["1"]
    assert after.processors["0"].executor == "3"
    assert {n: t.processor for n, t in after.tasks.items()} == {n: t.processor for n, t in model.tasks.items()}


def test_after_a_restart_tasks_go_where_their_state_is(fresh):
    model = opened(placed(fresh, "node-a", "node-b"))
    restarted = assign_tasks(shop_plan(), model, unbound_processors(2), NOW)
    after = placed(restarted, "node-b", "node-a")
    at = {name: after.processors[task.processor].location for name, task in after.tasks.items()}
    assert at == {name: task.location for name, task in model.tasks.items()}
    assert {n: t.processor for n, t in after.tasks.items()} == {n: t.processor for n, t in model.tasks.items()}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.permutations(range(6)))
def test_as_many_tasks_as_balance_allows_restart_at_their_location(nodes, order):
    fresh = assign_tasks(shop_plan(12), None, unbound_processors(len(nodes)), NOW)
    pods = [executor(number + 1, node) for number, node in enumerate(nodes)]
    model = opened(assign_tasks(shop_plan(12), fresh, placed_on(*pods, model=fresh, wanted=len(nodes)).bindings, NOW))
    restarted = assign_tasks(shop_plan(12), model, unbound_processors(len(nodes)), NOW)
    moved = [nodes[place] for place in order if place < len(nodes)]
    again = [executor(number + 1, node) for number, node in enumerate(moved)]
    placement = placed_on(*again, model=restarted, wanted=len(nodes))
    after = assign_tasks(shop_plan(12), restarted, placement.bindings, NOW)
    assert all(after.processors[task.processor].location == task.location for task in after.tasks.values())


def test_fewer_processors_go_at_once_and_more_wait_for_executors(fresh):
    model = placed(fresh, "node-a", "node-b")
    assert set(placed_on(executor(1, "node-a"), executor(2, "node-b"), model=model, wanted=1).bindings) == {"0"}
    assert set(placed_on(executor(1, "node-a"), executor(2, "node-b"), model=model, wanted=3).bindings) == {"0", "1"}


@pytest.mark.parametrize(
    "pod",
    [
        executor(1, "node-a", phase=PodPhase.PENDING),
        executor(1, "node-a", phase=PodPhase.FAILED),
        executor(1, "node-a", deleting_at=NOW),
    ],
    ids=["pending", "failed", "going"],
)
def test_only_executors_that_run_count(pod):
    assert find_live_executors(observed(pod), 1, find_location(ProcessorsSpec.model_validate(NODES))) == {}


def test_reports_of_another_run_say_nothing(fresh):
    report = LocalityReport(run_id="r0", epoch=1, locations={"node-a": (0, 1)})
    assert apply_locality(fresh, report) is fresh


@pytest.mark.parametrize(
    "spec, expected",
    [
        ({"location": {"by": "node"}}, "node-a"),
        ({"location": {"by": "volume"}}, "claim-1"),
        ({"location": {"by": "pod"}}, "uid-1"),
        ({"location": {"by": "container"}}, "containerd://1"),
        ({"location": {"by": "label", "label": "rack"}}, "r7"),
        ({"location": {"by": "label", "label": "none"}}, "any"),
    ],
)
def test_location_ids_come_from_the_pod(spec, expected):
    pod = executor(1, "node-a", claim="claim-1", container_id="containerd://1", labels={"rack": "r7"})
    processors = ProcessorsSpec.model_validate_json(json.dumps(spec))
    assert find_location_id(pod, find_location(processors)) == expected


@pytest.mark.parametrize(
    "state, by",
    [
        ({"hostPath": "/state"}, LocationBy.NODE),
        ({"emptyDir": {}}, LocationBy.POD),
        ({"volumeClaim": {"size": "1Gi"}}, LocationBy.VOLUME),
    ],
)
def test_what_holds_the_state_tells_where_it_is(state, by):
    assert find_location(ProcessorsSpec.model_validate({"state": state})).by is by


def test_unbound_processors_have_no_executors():
    assert unbound_processors(2) == {"0": ProcessorModel(), "1": ProcessorModel()}
