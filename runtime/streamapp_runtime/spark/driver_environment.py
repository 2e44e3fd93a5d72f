"""What the Kubernetes operator tells a driver by its environment (`streamapp_core.deployment.kubernetes_names`)."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.deployment import kubernetes_names as names
from streamapp_runtime.errors import RuntimeFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverEnvironment:
    """Which app this driver runs, where, in which epoch, and in which pod."""

    app: str
    namespace: str
    epoch: int
    pod: str
    address: str

    @property
    def host(self) -> str:
        """The name under which executors find this driver."""
        return names.driver_host(self.app, self.epoch, self.namespace)


def read_environment(environment: Mapping[str, str]) -> DriverEnvironment:
    """Read the variables.

    Raises:
        RuntimeFailure: one is missing: this is no pod that the Kubernetes operator made.
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
            f"this program runs in a pod that the Kubernetes operator has made; its environment lacks {error}"
        ) from None
