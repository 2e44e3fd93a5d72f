"""The lease of an app's driver: renewed while its processors report, so that it shows progress, not only a process."""

from collections.abc import Callable
from datetime import datetime

from streamapp_core.deployment.kubernetes_names import APP_LABEL, driver_lease
from streamapp_core.time_formats import format_micro_time
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_systems.kubernetes.kubernetes_api import (
    Kind,
    KubernetesApi,
    Object,
    ObjectExistsError,
    ObjectNotFoundError,
)

DURATION_SECONDS = 30
"""A lease that has not been renewed for so long shows a driver without progress."""


class DriverLease:
    """Renews the lease of one driver."""

    def __init__(
        self, api: KubernetesApi, environment: DriverEnvironment, owner: Object, now: Callable[[], datetime]
    ) -> None:
        """Take the app that owns the lease."""
        self._api = api
        self._environment = environment
        self._owner = owner
        self._now = now
        self._acquired = self._moment()

    def renew(self) -> None:
        """Renew the lease: there is progress.

        Raises:
            KubernetesError: the lease can't be written.
        """
        app, namespace = self._environment.app, self._environment.namespace
        spec = {
            "holderIdentity": self._environment.pod,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": self._acquired,
            "renewTime": self._moment(),
        }
        try:
            self._api.patch(Kind.LEASE, namespace, driver_lease(app), {"spec": spec})
        except ObjectNotFoundError:
            metadata = {
                "name": driver_lease(app),
                "namespace": namespace,
                "labels": {APP_LABEL: app},
                "ownerReferences": [self._owner],
            }
            try:
                self._api.create(Kind.LEASE, {"metadata": metadata, "spec": spec})
            except ObjectExistsError:
                self._api.patch(Kind.LEASE, namespace, driver_lease(app), {"spec": spec})

    def _moment(self) -> str:
        return format_micro_time(self._now())
