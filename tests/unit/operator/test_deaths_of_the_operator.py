"""The operator is killed after each single write, and comes back: the end is the same, and nothing is doubled."""

import re

import pytest

from streamapp_core.deployment.kubernetes_names import driver_pod
from streamapp_operator.decide.actions import ActionKind
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.operated import Operated


def first_start(operated):
    operated.apply().reconcile_all()
    operated.runs()


def expansion(operated):
    first_start(operated)
    operated.counts = {"orders": 8, "totals": 4}
    operated.look()
    ends(operated)
    operated.runs()


def restart_by_edit(operated):
    first_start(operated)
    operated.apply(job={"commitInterval": "5s"})
    operated.reconcile_all()
    ends(operated)
    operated.runs()


def rolled_back(operated):
    first_start(operated)
    operated.apply(image="registry.invalid/streamapp:2")
    operated.reconcile_all()
    ends(operated)
    operated.stuck(newest(operated), "ErrImagePull")
    operated.reconcile_all()
    operated.later(minutes=2)
    operated.runs()


def rescale(operated):
    first_start(operated)
    operated.apply(processors={"count": 3, "state": {"hostPath": "/var/lib/streamapp"}})
    operated.reconcile_all()
    operated.executor(3, "node-c")
    operated.reconcile_all()
    operated.reports()
    operated.reconcile_all()


def new_run(operated):
    first_start(operated)
    operated.apply(runId="again")
    operated.reconcile_all()
    ends(operated)
    operated.runs()


def driver_dies(operated):
    first_start(operated)
    operated.pod_is(newest(operated), "Failed", exit_code=1)
    operated.reconcile_all()
    operated.later(minutes=1)
    operated.runs()


def suspended_and_resumed(operated):
    first_start(operated)
    operated.apply(suspend=True)
    operated.reconcile_all()
    ends(operated)
    operated.apply()
    operated.reconcile_all()
    operated.runs()


def executor_moves(operated):
    first_start(operated)
    operated.gone(operated.pods("processor")[0])
    operated.reconcile_all()
    operated.later(seconds=11)
    operated.executor(9, "node-c")
    operated.reconcile_all()
    operated.reports()
    operated.reconcile_all()


def documents_are_lost(operated):
    first_start(operated)
    operated.backs_up()
    for kind, namespace, name in list(operated.cluster.objects):
        if kind is Kind.CONFIG_MAP:
            operated.cluster.remove(kind, namespace, name)
    operated.reconcile_all()
    operated.gone("shop-driver-1")
    operated.reconcile_all()
    operated.runs()


def deleted_with_all(operated):
    operated.apply(deletionPolicy="Delete").reconcile_all()
    operated.runs()
    operated.delete()
    operated.reconcile_all()
    operated.all_gone()
    for pod in operated.pods("cleanup"):
        operated.pod_is(pod, "Succeeded", exit_code=0)
        operated.reconcile_all()


SCENARIOS = [
    first_start,
    expansion,
    restart_by_edit,
    rolled_back,
    rescale,
    new_run,
    driver_dies,
    suspended_and_resumed,
    executor_moves,
    documents_are_lost,
    deleted_with_all,
]


def newest(operated):
    return driver_pod("shop", operated.record().launch.epoch)


def ends(operated):
    """Remove the driver's pod, once it is being deleted."""
    assert operated.cluster.get(Kind.POD, "default", newest(operated))["metadata"]["deletionTimestamp"]
    operated.gone(newest(operated))
    operated.reconcile_all()


def final_state(operated):
    """Return the final state, but for the numbers of epochs: a crash may cost one.

    A shard that no pointer names may stay until the next job model.
    """
    for pod in (*operated.pods(), *operated.pods("processor")):
        found = operated.cluster.get(Kind.POD, "default", pod)  # None: it went with its driver
        if found is not None and "deletionTimestamp" in found["metadata"]:
            operated.gone(pod)
    operated.reconcile_all()
    names = sorted(
        (kind.kind, re.sub(r"(-driver-|shop-)[0-9]+", r"\1", name))
        for kind, _, name in operated.cluster.objects
        if kind is not Kind.EVENT and not re.search("[0-9a-f]{64}$", name)
    )
    if operated.app() is None:
        return names, set(operated.deleted_streams)
    record, model = operated.record(), operated.model()
    launch = record.launch
    status = operated.status()
    conditions = {entry["type"]: (entry["status"], entry["reason"]) for entry in status["conditions"]}
    tasks = {name: (task.processor, task.ssps, task.location) for name, task in model.model.tasks.items()}
    return (
        names,
        record.accepted,
        (launch.cause, launch.attempt, launch.counts, launch.processors, launch.stop, launch.app),
        (model.epoch == launch.epoch, model.model.processors, tasks, model.model.changelog),
        (status["phase"], conditions),
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_death_after_any_write_changes_nothing(scenario):
    undisturbed = Operated()
    scenario(undisturbed)
    expected = final_state(undisturbed)
    deaths = 0
    for writes in range(1, undisturbed.writes() + 1):
        operated = Operated(dies_after=writes)
        scenario(operated)
        assert final_state(operated) == expected, f"after write {writes}"
        deaths += operated.died
    assert deaths > 5


def test_every_kind_of_action_is_taken_in_some_scenario():
    taken = set()
    for scenario in SCENARIOS:
        operated = Operated()
        scenario(operated)
        taken |= set(operated.actions)
    assert set(ActionKind) - taken <= {ActionKind.DELETE_CLAIMS}
