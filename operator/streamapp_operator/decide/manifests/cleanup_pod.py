"""Manifests of the pods that remove the state of a deleted app from its nodes."""

import hashlib
from collections.abc import Mapping, Sequence

from streamapp_core.deployment.kubernetes_names import STATE_FOLDER, STATE_VOLUME, Role
from streamapp_core.deployment.template_merge import merge_template
from streamapp_core.naming import app_state_path
from streamapp_core.spec.app import StreamAppSpec
from streamapp_operator.decide.manifests.pod_parts import (
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    build_image,
    build_labels,
    build_pull_secrets,
)
from streamapp_operator.observe.resource_views import AppResource
from streamapp_systems.kubernetes.kubernetes_api import Object


def build_cleanup_pods(app: AppResource, spec: StreamAppSpec, nodes: Sequence[str]) -> Mapping[str, Object]:
    """Return a pod for each node with state, by name; none if state is not in a folder of the node.

    They have the security context and tolerations of processors, without which they might not reach the folder.
    """
    if spec.processors.state.host_path is None:
        return {}
    return {name: _pod(app, spec, name, node) for node in nodes for name in [_name(app.key.name, node)]}


def _name(app: str, node: str) -> str:
    return f"{app}-cleanup-{hashlib.sha256(node.encode()).hexdigest()[:10]}"


def _pod(app: AppResource, spec: StreamAppSpec, name: str, node: str) -> Object:
    users = spec.processors.template.get("spec", {})
    kept = {part: users[part] for part in ("securityContext", "tolerations") if part in users}
    container = {
        "name": "cleanup",
        **build_image(spec),
        "command": ["rm", "-rf", f"{STATE_FOLDER}/{app_state_path(app)}"],
        "securityContext": RESTRICTED_CONTAINER,
        "volumeMounts": [{"name": STATE_VOLUME, "mountPath": STATE_FOLDER}],
    }
    pod = {
        "nodeName": node,
        "restartPolicy": "OnFailure",
        "containers": [container],
        "volumes": [{"name": STATE_VOLUME, "hostPath": {"path": spec.processors.state.host_path, "type": "Directory"}}],
        "securityContext": RESTRICTED_POD,
        "imagePullSecrets": build_pull_secrets(spec),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
    }
    metadata = {
        "name": name,
        "namespace": app.key.namespace,
        "labels": build_labels(app.key.name, Role.CLEANUP),
        "ownerReferences": [app.owner],
    }
    return {"metadata": metadata, "spec": merge_template(pod, kept)}
