"""The check whether the API server would admit another executor, while there are fewer than processors.

Spark creates executors, and only its log says that a quota, a limit or a webhook refuses them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from streamapp_core.deployment.app_record import Launch
from streamapp_core.deployment.kubernetes_names import PROCESSOR_CONTAINER, Role, executor_prefix
from streamapp_core.spec.app import StreamAppSpec
from streamapp_operator.decide.acceptance import ActiveSpec
from streamapp_operator.decide.actions import ActionKind, CreateObject
from streamapp_operator.decide.manifests.pod_parts import build_image
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import AppResource, PodPhase
from streamapp_systems.kubernetes.kubernetes_api import Kind, Object

_SHORTEST, _LONGEST = timedelta(seconds=10), timedelta(minutes=5)
"""Spark needs ten seconds for its first request. The check is repeated, ever more rarely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCheck:
    """The check to make now, if any, and when to make the next one."""

    actions: tuple[CreateObject, ...] = ()
    wake_at: datetime | None = None


def check_executors(observed: Observed, active: ActiveSpec, launch: Launch) -> ExecutorCheck:
    """Check whether another executor would be admitted, if the driver runs and has too few of them.

    While pods of earlier executors go, nothing is checked: a quota still counts them.
    """
    drivers = observed.pods_of(Role.DRIVER, launch.epoch)
    started = next((pod.started_at for pod in drivers if pod.active and pod.phase is PodPhase.RUNNING), None)
    executors = observed.pods_of(Role.PROCESSOR)
    going = any(pod.epoch != launch.epoch or pod.deleting_at is not None for pod in executors)
    missing = sum(pod.active for pod in executors) < launch.processors
    if started is None or going or not missing:
        return ExecutorCheck()
    if observed.now < started + _SHORTEST:
        return ExecutorCheck(wake_at=started + _SHORTEST)
    body = build_executor(observed.app, active.app.spec, launch)
    check = CreateObject(kind=Kind.POD, body=body, action_kind=ActionKind.CHECK_EXECUTOR, dry_run=True)
    pause = min(max((observed.now - started) / 2, _SHORTEST), _LONGEST)
    return ExecutorCheck(actions=(check,), wake_at=observed.now + pause)


def build_executor(app: AppResource, spec: StreamAppSpec, launch: Launch) -> Object:
    """Return an executor's pod as Spark makes it of the launch's template, as far as admission depends on it."""
    template = launch.executor_template
    containers = [_fill_container(container, spec) for container in template["spec"]["containers"]]
    metadata = {
        **template["metadata"],
        "name": f"{executor_prefix(app.key.name, launch.epoch)}-exec-check",
        "namespace": app.key.namespace,
    }
    return {"metadata": metadata, "spec": {**template["spec"], "containers": containers}}


def _fill_container(container: Mapping[str, Any], spec: StreamAppSpec) -> Mapping[str, Any]:
    if container["name"] != PROCESSOR_CONTAINER:
        return container
    memory, resources = spec.processors.memory, container.get("resources", {})
    requests = {**resources.get("requests", {}), "cpu": str(spec.processors.cores), "memory": memory}
    limits = {**resources.get("limits", {}), "memory": memory}
    return {**container, **build_image(spec), "resources": {**resources, "requests": requests, "limits": limits}}
