"""The secret of a driver and its executors: with it they authenticate, and encrypt, what Spark sends between them.

It is a Secret that belongs to the driver's pod and ends with it, one per epoch. The pods of executors refer to it; its
value is in no argument, property, manifest or ConfigMap, which more people can see.
"""

import base64
from dataclasses import dataclass, field

from streamapp_core.deployment import kubernetes_names as names
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.spark.completed_template import refer_to_pod
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, Object, RequestRefusedError

_ITEM = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSecret:
    """The name of a Secret, and its value, which is never shown."""

    name: str
    value: str = field(repr=False)

    @property
    def reference(self) -> dict[str, str]:
        """The item with the value, as a container's variable refers to it."""
        return {"name": self.name, "key": _ITEM}


def create_run_secret(
    api: KubernetesApi, environment: DriverEnvironment, pod: Object, *, suffix: str, value: str
) -> RunSecret:
    """Create the Secret of a driver, which its pod owns. An unguessable `suffix` keeps its name from being taken.

    Raises:
        RuntimeFailure: the driver has no right to create it.
        KubernetesError: it can't be created now.
    """
    name = f"{names.driver_pod(environment.app, environment.epoch)}-{suffix}"
    metadata = {
        "name": name,
        "namespace": environment.namespace,
        "labels": {names.APP_LABEL: environment.app, names.EPOCH_LABEL: str(environment.epoch)},
        "ownerReferences": [refer_to_pod(pod)],
    }
    try:
        api.create(Kind.SECRET, {"metadata": metadata, "immutable": True, "stringData": {_ITEM: _encode(value)}})
    except RequestRefusedError as error:
        raise RuntimeFailure(
            f"the Secret that driver and executors authenticate with can't be created: {error}. Drivers need the "
            "right to create secrets: upgrade the chart before the apps' images, or add it to the role of your own"
        ) from None
    return RunSecret(name=name, value=value)


def _encode(value: str) -> str:
    """Return the secret as Spark has it in a driver that reads `value` from a file."""
    return base64.b64encode(value.encode()).decode()
