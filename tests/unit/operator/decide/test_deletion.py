"""The actions of a deletion: nothing but what the policy says, and the finalizer last."""

from datetime import timedelta

import pytest

from streamapp_operator.decide.actions import ActionKind
from streamapp_operator.decide.deletion import FINALIZER, decide_deletion, ensure_finalizer
from streamapp_operator.decide.manifests.cleanup_pod import build_cleanup_pods
from streamapp_operator.decide.validation import parse_accepted_app
from streamapp_operator.observe.resource_views import PodPhase
from support.observed_values import (
    NOW,
    SECOND,
    bound_model,
    cleanup,
    driver,
    executor,
    observe,
    record,
    resource,
    stored,
)

APP = resource(deletionPolicy="Delete", deleting=True, finalizers=[FINALIZER])
CLAIMING = resource(
    deletionPolicy="Delete",
    deleting=True,
    finalizers=[FINALIZER],
    processors={"count": 2, "state": {"volumeClaim": {"size": "1Gi"}}},
)
MODEL = bound_model(node0="node-a", node1="node-b")
LOCATED = MODEL.model_copy(
    update={"tasks": {name: task.model_copy(update={"location": "node-a"}) for name, task in MODEL.tasks.items()}}
)
(CLEANUP,) = build_cleanup_pods(APP, parse_accepted_app(APP.text).spec, ["node-a"])
"""The name of the pod that removes state from the one node that has any."""
TIMEOUT = timedelta(minutes=2)
END = [ActionKind.DELETE_STREAMS, ActionKind.REMOVE_FINALIZER]


@pytest.mark.parametrize(
    "policy, finalizers, expected",
    [
        ({}, [], []),
        ({"deletionPolicy": "Retain"}, [], []),
        ({"deletionPolicy": "Delete"}, [], [True]),
        ({"deletionPolicy": "Delete"}, [FINALIZER], []),
        ({"deletionPolicy": "Retain"}, [FINALIZER, "other"], [False]),
        ({}, ["other"], []),
    ],
    ids=["by default", "retain", "delete", "has it", "changed back", "somebody else's"],
)
def test_the_finalizer_is_there_exactly_while_the_policy_is_delete(policy, finalizers, expected):
    actions = ensure_finalizer(resource(finalizers=finalizers, **policy))
    assert [action.present for action in actions] == expected


@pytest.mark.parametrize(
    "observed, expected, wake_at",
    [
        (observe(app=resource(deleting=True)), [], None),
        (observe(app=resource(deleting=True, finalizers=[FINALIZER])), [ActionKind.REMOVE_FINALIZER], None),
        (observe(app=APP, pods=(driver(), executor(1))), [ActionKind.DELETE_POD] * 2, None),
        (observe(app=APP, pods=(driver(deleting_at=NOW), executor(1))), [ActionKind.DELETE_POD], None),
        (observe(app=APP, pods=(driver(deleting_at=NOW),)), [], None),
        (observe(app=APP, model=stored(LOCATED)), [ActionKind.CREATE_CLEANUP_POD], None),
        (observe(app=APP, model=stored(LOCATED), pods=(cleanup(CLEANUP),)), [], NOW + TIMEOUT),
        (observe(app=APP, model=stored(LOCATED), pods=(cleanup(CLEANUP, phase=PodPhase.SUCCEEDED),)), END, None),
        (observe(app=APP, model=stored(LOCATED), pods=(cleanup(CLEANUP, created_at=NOW - TIMEOUT),)), END, None),
        (observe(app=APP, model=stored(MODEL)), END, None),
        (observe(app=APP), END, None),
        (
            observe(app=CLAIMING, record=record(CLAIMING, None)),
            [ActionKind.DELETE_STREAMS, ActionKind.DELETE_CLAIMS, ActionKind.REMOVE_FINALIZER],
            None,
        ),
    ],
    ids=[
        "without our finalizer",
        "policy changed back",
        "driver and executors run",
        "one is being deleted already",
        "they drain",
        "state on a node",
        "state is being removed",
        "state is removed",
        "the node does not answer",
        "no task opened its state",
        "nothing was ever launched",
        "volume claims",
    ],
)
def test_pods_then_state_then_streams_then_the_finalizer(observed, expected, wake_at):
    deletion = decide_deletion(observed)
    assert ([action.action_kind for action in deletion.actions], deletion.wake_at) == (expected, wake_at)


def test_the_last_wait_is_for_the_newest_pod():
    names = build_cleanup_pods(APP, parse_accepted_app(APP.text).spec, ["node-a", "node-b"])
    tasks = dict(LOCATED.tasks)
    first = next(iter(tasks))
    tasks[first] = tasks[first].model_copy(update={"location": "node-b"})
    model = LOCATED.model_copy(update={"tasks": tasks})
    pods = tuple(cleanup(name, created_at=NOW - number * SECOND) for number, name in enumerate(names))
    assert decide_deletion(observe(app=APP, model=stored(model), pods=pods)).wake_at == NOW + TIMEOUT


def test_streams_of_the_accepted_systems_go_not_those_of_a_spec_that_was_refused():
    unreadable = resource(deletionPolicy="Delete", deleting=True, finalizers=[FINALIZER], systems=7)
    accepted = decide_deletion(observe(app=unreadable, record=record(resource(), None)))
    assert [set(action.systems) for action in accepted.actions[:1]] == [{"kafka"}]
    assert accepted.actions[0].prefix == "default.shop."
    never = decide_deletion(observe(app=unreadable))
    assert [action.action_kind for action in never.actions] == [ActionKind.REMOVE_FINALIZER]
