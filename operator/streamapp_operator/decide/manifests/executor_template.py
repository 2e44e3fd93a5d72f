"""The pod template of executors, which Spark creates: the nodes they prefer, and their volumes (docs/host-affinity.md).

All executors of a driver share one template, so it can't bind each one to its node. It prefers nodes with state (the
more tasks, the higher the weight), and spreads executors; their locations are read from the pods when they run.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from streamapp_core.deployment.kubernetes_names import PROCESSOR_CONTAINER, STATE_FOLDER, STATE_VOLUME, Role
from streamapp_core.deployment.template_merge import merge_template
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.processors import LocationBy
from streamapp_operator.decide.location_ids import find_location
from streamapp_operator.decide.manifests.pod_parts import (
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    build_labels,
    build_pull_secrets,
    build_spark_folder,
    build_volumes,
)
from streamapp_systems.kubernetes.kubernetes_api import Object

_PREFERRED_NODES = 100
_HIGHEST_WEIGHT = 100


def build_executor_template(app: str, spec: StreamAppSpec, epoch: int, model: JobModel | None) -> Object:
    """Return the template of the executors of an epoch; `model` has the locations of the tasks' state."""
    found, mounts = build_volumes(spec)
    spark, spark_mount = build_spark_folder()
    found.append(spark)
    mounts.append(spark_mount)
    state = _state_volume(spec)
    if state is not None:
        found.append(state)
        mounts.append({"name": STATE_VOLUME, "mountPath": STATE_FOLDER})
    pod_labels = build_labels(app, Role.PROCESSOR, epoch)
    ours = {
        "metadata": {},
        "spec": {
            "containers": [
                {"name": PROCESSOR_CONTAINER, "securityContext": RESTRICTED_CONTAINER, "volumeMounts": mounts}
            ],
            "volumes": found,
            "securityContext": RESTRICTED_POD,
            "imagePullSecrets": build_pull_secrets(spec),
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": pod_labels},
                }
            ],
            **_affinity(spec, model),
        },
    }
    template = merge_template(ours, spec.processors.template)
    template["metadata"]["labels"] = {**template["metadata"].get("labels", {}), **pod_labels}
    template["spec"]["restartPolicy"] = "Never"
    return template


def count_tasks_by_node(model: JobModel | None) -> Mapping[str, int]:
    """Count the tasks that have their state on each node, if location ids are nodes."""
    if model is None:
        return {}
    return Counter(task.location for task in model.tasks.values() if task.location is not None)


def _affinity(spec: StreamAppSpec, model: JobModel | None) -> Mapping[str, Any]:
    nodes = count_tasks_by_node(model) if find_location(spec.processors).by is LocationBy.NODE else {}
    if not nodes:
        return {}
    most = max(nodes.values())
    ordered = sorted(nodes.items(), key=lambda item: (-item[1], item[0]))[:_PREFERRED_NODES]
    preferred = [
        {
            "weight": max(1, tasks * _HIGHEST_WEIGHT // most),
            "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]},
        }
        for node, tasks in ordered
    ]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}


def _state_volume(spec: StreamAppSpec) -> dict[str, Any] | None:
    """Return the volume of the state; None for claims, which Spark creates, one per executor."""
    state = spec.processors.state
    if state.host_path is not None:
        return {"name": STATE_VOLUME, "hostPath": {"path": state.host_path, "type": "Directory"}}
    if state.empty_dir is not None:
        limit = {} if state.empty_dir.size_limit is None else {"sizeLimit": state.empty_dir.size_limit}
        return {"name": STATE_VOLUME, "emptyDir": limit}
    return None
