"""What the pods of driver and processors have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamapp_core.deployment.kubernetes_names import (
    APP_FOLDER,
    APP_LABEL,
    EPOCH_LABEL,
    ROLE_LABEL,
    SECRETS_FOLDER,
    Role,
)
from streamapp_core.spec.app import StreamAppSpec

RESTRICTED_POD = {
    "runAsNonRoot": True,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}
RESTRICTED_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""What Kubernetes' "restricted" Pod Security Standard asks for. The user is the image's, which must be a number."""


def labels(app: str, role: Role, epoch: int | None = None) -> dict[str, str]:
    """Label a pod of an app."""
    found = {APP_LABEL: app, ROLE_LABEL: role.value}
    return found if epoch is None else found | {EPOCH_LABEL: str(epoch)}


def volumes(spec: StreamAppSpec) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Give the volumes and mounts of what an app needs to read: the secrets of its systems, its code in ConfigMaps."""
    secrets = sorted({s.kafka.auth.secret_name for s in spec.systems.values() if s.kafka and s.kafka.auth})
    code = [name for name in spec.py_files if is_config_map(name)]
    found: list[Mapping[str, Any]] = [{"name": "tmp", "emptyDir": {}}]
    mounts: list[Mapping[str, Any]] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - in the container
    for number, secret in enumerate(secrets):
        found.append({"name": f"secret-{number}", "secret": {"secretName": secret}})
        mounts.append({"name": f"secret-{number}", "mountPath": f"{SECRETS_FOLDER}/{secret}", "readOnly": True})
    for number, config_map in enumerate(code):
        found.append({"name": f"code-{number}", "configMap": {"name": config_map}})
        mounts.append({"name": f"code-{number}", "mountPath": f"{APP_FOLDER}/{config_map}", "readOnly": True})
    return found, mounts


def is_config_map(py_file: str) -> bool:
    """Tell a ConfigMap among `pyFiles` from a path: it is a plain name."""
    return "/" not in py_file and "." not in py_file


def image(spec: StreamAppSpec) -> dict[str, Any]:
    """Give the image of a container."""
    policy = {} if spec.image_pull_policy is None else {"imagePullPolicy": spec.image_pull_policy.value}
    return {"image": spec.image, **policy}


def pull_secrets(spec: StreamAppSpec) -> Sequence[Mapping[str, str]]:
    """Name the secrets that the image is pulled with."""
    return [{"name": secret.name} for secret in spec.image_pull_secrets]
