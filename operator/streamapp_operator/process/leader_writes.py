"""The API server as it is written to by the leader alone."""

from collections.abc import Callable, Sequence

from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, Object


class LeaderWrites:
    """A `KubernetesApi` whose writes fail if `check` raises an error: a worker that was paused may go on later."""

    def __init__(self, api: KubernetesApi, check: Callable[[], None]) -> None:
        self._api = api
        self._check = check

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """See `KubernetesApi.get`."""
        return self._api.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str | None, selector: str = "", *, fields: str = "") -> Sequence[Object]:
        """See `KubernetesApi.list`."""
        return self._api.list(kind, namespace, selector, fields=fields)

    def create(self, kind: Kind, body: Object, *, dry_run: bool = False) -> Object:
        """See `KubernetesApi.create`."""
        return self._writable().create(kind, body, dry_run=dry_run)

    def replace(self, kind: Kind, body: Object) -> Object:
        """See `KubernetesApi.replace`."""
        return self._writable().replace(kind, body)

    def patch(self, kind: Kind, namespace: str | None, name: str, body: Object, *, status: bool = False) -> Object:
        """See `KubernetesApi.patch`."""
        return self._writable().patch(kind, namespace, name, body, status=status)

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, version: str | None = None
    ) -> None:
        """See `KubernetesApi.delete`."""
        self._writable().delete(kind, namespace, name, uid=uid, version=version)

    def _writable(self) -> KubernetesApi:
        self._check()
        return self._api
