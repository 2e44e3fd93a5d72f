"""Names, labels, ports and paths of an app on Kubernetes. All are made of the app's name, so that a retry finds them.

An app's name has at most 40 characters and no dots (its CustomResourceDefinition says so), so no two apps of a
namespace make the same name.
"""

import re
from enum import StrEnum

from streamapp_core.spec.base import DNS_LABEL

APP_LABEL = "streamapp.dev/app"
"""On everything that belongs to an app: the app's name."""
ROLE_LABEL = "streamapp.dev/role"
"""On pods: one of `Role`."""
EPOCH_LABEL = "streamapp.dev/epoch"
"""On pods of drivers and processors: the driver's epoch."""
SHARD_LABEL = "streamapp.dev/shard"
"""On ConfigMaps that need no watch: shards of job models, which never change."""
KEY_ANNOTATION = "streamapp.dev/key"
"""On ConfigMaps: the name of the document in the app's `MetadataStore`."""
DIGEST_ANNOTATION = "streamapp.dev/digest"
"""On NetworkPolicies: the digest of the rules that the Kubernetes operator wrote."""
EXECUTOR_ID_LABEL = "spark-exec-id"
"""On executor pods, by Spark: the id that `ProcessorModel.executor` names."""


class Role(StrEnum):
    """The roles of an app's pods."""

    DRIVER = "driver"
    PROCESSOR = "processor"
    CLEANUP = "cleanup"


APP_VARIABLE = "STREAMAPP_APP"
NAMESPACE_VARIABLE = "STREAMAPP_NAMESPACE"
EPOCH_VARIABLE = "STREAMAPP_EPOCH"
POD_NAME_VARIABLE = "STREAMAPP_POD_NAME"
POD_IP_VARIABLE = "STREAMAPP_POD_IP"
"""The driver's environment: which app it runs, where, in which epoch, and in which pod."""

DRIVER_MODULE = "streamapp_runtime.kubernetes"
"""`python3 -m` this is the driver's command."""
DRIVER_CONTAINER = "driver"
PROCESSOR_CONTAINER = "processor"
"""The containers that users' pod templates are merged into."""

SPARK_PORT = 7078
BLOCK_MANAGER_PORT = 7079
CHANNEL_PORT = 7080
HTTP_PORT = 8080
"""The driver's ports: Spark's two, the channel of its processors, and /healthz, /ready, /metrics and /status."""

APP_FOLDER = "/opt/streamapp/app"
"""The base of relative paths in the spec, in driver and processors; ConfigMaps of `pyFiles` are folders in it."""
SECRETS_FOLDER = "/etc/streamapp/secrets"
"""In driver and processors: one folder per secret that a system's `auth` names."""
STATE_FOLDER = "/var/lib/streamapp/state"
"""In processors: the volume of `processors.state`. State is in `<app uid>/<run id>/<task>` below it."""
STATE_VOLUME = "state"
"""The name of that volume in the pod."""

STOPPED_EXIT_CODE = 0
"""The driver's exit code after completion and after a drain; `ProgressReport.phase` distinguishes them."""
OUTDATED_EXIT_CODE = 3
"""The driver's exit code if its epoch is not, or no longer, the active one. It has changed nothing."""

_LABEL = re.compile(DNS_LABEL)


def driver_pod(app: str, epoch: int) -> str:
    """Return the name of the pod of a driver: one per epoch, so Kubernetes itself starts an epoch only once."""
    return f"{app}-driver-{epoch}"


def driver_service(app: str) -> str:
    """Return the name of the headless Service of an app's drivers, which gives each of them a host name."""
    return f"{app}-driver"


def driver_host(app: str, epoch: int, namespace: str) -> str:
    """Return the host name of a driver, for its executors."""
    return f"{driver_pod(app, epoch)}.{driver_service(app)}.{namespace}.svc"


def driver_account(app: str) -> str:
    """Return the name of the ServiceAccount of an app's driver, and of the RoleBinding that lets it start executors."""
    return f"{app}-driver"


def network_policy(app: str) -> str:
    """Return the name of the NetworkPolicy of an app's pods: not the app's own, which users' policies may have."""
    return f"{app}-streamapp"


def driver_lease(app: str) -> str:
    """Return the name of the Lease that an app's driver renews as long as its processors report."""
    return f"{app}-driver"


def executor_prefix(app: str, epoch: int) -> str:
    """Return the prefix of the names of a driver's executor pods (`spark.kubernetes.executor.podNamePrefix`)."""
    return f"{app}-{epoch}"


def document_name(app: str, key: str) -> str:
    """Return the name of the ConfigMap of a document of an app. An app's name has no dot, so no two apps share one."""
    if _LABEL.fullmatch(key):
        return f"{app}.{key}"
    return f"{app}.x.{key.encode().hex()}"
