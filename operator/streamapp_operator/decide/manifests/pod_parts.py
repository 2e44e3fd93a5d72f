"""The parts that the pods of drivers and processors have in common."""

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
RESTRICTED_CONTAINER = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""The fields of Kubernetes' "restricted" Pod Security Standard, and no writes outside of volumes. The user is the
image's, which must be a number."""
_SCRATCH = {"sizeLimit": "1Gi"}
"""Nobody keeps anything in such a volume; a pod that fills it is evicted, and not its node's others."""


def build_labels(app: str, role: Role, epoch: int | None = None) -> dict[str, str]:
    """Return the labels of a pod of an app."""
    found = {APP_LABEL: app, ROLE_LABEL: role.value}
    return found if epoch is None else found | {EPOCH_LABEL: str(epoch)}


def build_volumes(spec: StreamAppSpec) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the volumes and mounts of the files that an app reads: secrets of its systems, its code in ConfigMaps."""
    secrets = sorted(frozenset().union(*(system.secrets for system in spec.systems.values())))
    code = [name for name in spec.py_files if is_config_map(name)]
    found: list[Mapping[str, Any]] = [{"name": "tmp", "emptyDir": _SCRATCH}]
    mounts: list[Mapping[str, Any]] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - in the container
    for number, secret in enumerate(secrets):
        found.append({"name": f"secret-{number}", "secret": {"secretName": secret}})
        mounts.append({"name": f"secret-{number}", "mountPath": f"{SECRETS_FOLDER}/{secret}", "readOnly": True})
    for number, config_map in enumerate(code):
        found.append({"name": f"code-{number}", "configMap": {"name": config_map}})
        mounts.append({"name": f"code-{number}", "mountPath": f"{APP_FOLDER}/{config_map}", "readOnly": True})
    return found, mounts


def build_spark_folder() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return volume and mount of the folder of Spark in an executor; by its name Spark takes it for its own."""
    name = "spark-local-dir-1"
    return {"name": name, "emptyDir": _SCRATCH}, {"name": name, "mountPath": "/var/data/spark"}


def is_config_map(py_file: str) -> bool:
    """Return whether an entry of `pyFiles` is a ConfigMap, not a path: it is a plain name."""
    return "/" not in py_file and "." not in py_file


def build_image(spec: StreamAppSpec) -> dict[str, Any]:
    """Return the image of a container, and its pull policy."""
    policy = {} if spec.image_pull_policy is None else {"imagePullPolicy": spec.image_pull_policy.value}
    return {"image": spec.image, **policy}


def build_pull_secrets(spec: StreamAppSpec) -> Sequence[Mapping[str, str]]:
    """Return the references to the secrets that the image is pulled with."""
    return [{"name": secret.name} for secret in spec.image_pull_secrets]
