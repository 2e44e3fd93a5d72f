"""When the API server is asked whether it would admit another executor, and for which pod."""

import pytest

from streamapp_core.deployment.kubernetes_names import Role
from streamapp_operator.decide.executor_check import check_executors
from streamapp_operator.decide.manifests.executor_template import build_executor_template
from streamapp_operator.observe.resource_views import PodPhase
from support.observed_values import NOW, SECOND, active, driver, executor, launch, observe_running, resource

LATER = NOW + 60 * SECOND
RUNS = driver(started_at=NOW)
APP = resource(
    processors={"count": 2, "cores": 2, "memory": "2Gi", "template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}
)
ACTIVE = active(APP)
LAUNCH = launch(app=APP, executor_template=build_executor_template("shop", ACTIVE.app.spec, 1, None))


def check(*pods, now=LATER):
    found = check_executors(observe_running(app=APP, pods=pods, now=now), ACTIVE, LAUNCH)
    return len(found.actions), found.wake_at


@pytest.mark.parametrize(
    "pods, now, expected",
    [
        ((RUNS,), LATER, (1, LATER + 30 * SECOND)),
        ((RUNS, executor(1)), LATER, (1, LATER + 30 * SECOND)),
        ((RUNS, executor(1), executor(2, phase=PodPhase.PENDING)), LATER, (0, None)),
        ((RUNS, executor(1), executor(2, phase=PodPhase.FAILED)), LATER, (1, LATER + 30 * SECOND)),
        ((RUNS,), NOW + 9 * SECOND, (0, NOW + 10 * SECOND)),
        ((RUNS,), NOW + 10 * SECOND, (1, NOW + 20 * SECOND)),
        ((RUNS,), NOW + 3_600 * SECOND, (1, NOW + 3_900 * SECOND)),
        ((RUNS, executor(1, epoch=0)), LATER, (0, None)),
        ((RUNS, executor(1, deleting_at=LATER)), LATER, (0, None)),
        ((driver(phase=PodPhase.PENDING),), LATER, (0, None)),
        ((driver(started_at=NOW, deleting_at=LATER),), LATER, (0, None)),
        ((), LATER, (0, None)),
    ],
    ids=[
        "no executor",
        "one is missing",
        "the last one is starting",
        "one has ended",
        "Spark is starting",
        "Spark may have started",
        "for an hour",
        "executors of the last epoch go",
        "an executor goes",
        "the driver waits for its node",
        "the driver goes",
        "no driver",
    ],
)
def test_it_is_asked_while_executors_are_missing(pods, now, expected):
    assert check(*pods, now=now) == expected


def test_the_pod_is_what_spark_would_create():
    (found,) = check_executors(observe_running(app=APP, pods=(RUNS,), now=LATER), ACTIVE, LAUNCH).actions
    body = found.body
    (container,) = body["spec"]["containers"]
    assert body["metadata"]["namespace"] == "default"
    assert body["metadata"]["labels"]["streamapp.dev/role"] == Role.PROCESSOR
    assert body["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert container["image"] == "registry.invalid/streamapp:1"
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}
