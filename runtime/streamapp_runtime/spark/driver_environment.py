"""The environment variables that the Kubernetes operator and the image set for a driver."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.deployment import kubernetes_names as names
from streamapp_runtime.errors import RuntimeFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverEnvironment:
    """The app that a driver runs, its namespace and epoch, and the pod of the driver."""

    app: str
    namespace: str
    epoch: int
    pod: str
    address: str

    @property
    def host(self) -> str:
        """The host name of this driver for its executors."""
        return names.driver_host(self.app, self.epoch, self.namespace)


def read_environment(environment: Mapping[str, str]) -> DriverEnvironment:
    """Read the variables.

    Raises:
        RuntimeFailure: one is missing: this is not a pod made by the Kubernetes operator.
    """
    try:
        return DriverEnvironment(
            app=environment[names.APP_VARIABLE],
            namespace=environment[names.NAMESPACE_VARIABLE],
            epoch=int(environment[names.EPOCH_VARIABLE]),
            pod=environment[names.POD_NAME_VARIABLE],
            address=environment[names.POD_IP_VARIABLE],
        )
    except (KeyError, ValueError) as error:
        raise RuntimeFailure(
            f"this program runs only in a pod made by the Kubernetes operator; its environment lacks {error}"
        ) from None
