"""The official client, without its models: requests and answers stay JSON, which is several times faster."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from streamapp_systems.kubernetes.kubernetes_api import (
    Kind,
    KubernetesError,
    Object,
    ObjectExistsError,
    ObjectNotFoundError,
    RequestRefusedError,
    ServerUnavailableError,
    VersionConflictError,
)

_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 30.0
_RETRIES = urllib3.Retry(connect=1, read=1)
"""A request that may be repeated is, once: a connection that was open for long may have been closed meanwhile."""
_PAGE = 500
_NOT_FOUND, _CONFLICT, _TOO_MANY, _FIRST_SERVER_ERROR = 404, 409, 429, 500
_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"


class KubernetesClient:
    """See `KubernetesApi`. The server and the credentials are those of the pod, else of the kubeconfig."""

    def __init__(
        self, *, kubeconfig: Path | None = None, connections: int = 16, longest_request: float | None = None
    ) -> None:
        """Read the configuration; nothing is asked yet. `connections` are kept open for as many threads.

        With `longest_request` no request takes longer, in seconds, and none is repeated.

        Raises:
            KubernetesError: there is no configuration.
        """
        configuration = client.Configuration()
        _configure(configuration, kubeconfig)
        configuration.connection_pool_maxsize = connections
        self._client = client.ApiClient(configuration)
        self._host: str = configuration.host
        self._timeout = urllib3.Timeout(connect=_CONNECT_SECONDS, read=_ANSWER_SECONDS, total=longest_request)
        self._retries = _RETRIES if longest_request is None else False

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """See `KubernetesApi.get`."""
        try:
            return self._request("GET", kind.path(namespace, name))
        except ObjectNotFoundError:
            return None

    def list(self, kind: Kind, namespace: str | None, selector: str = "", *, fields: str = "") -> Sequence[Object]:
        """See `KubernetesApi.list`."""
        return list(self._iterate(kind, namespace, {"labelSelector": selector, "fieldSelector": fields}))

    def iterate(self, kind: Kind, namespace: str | None, selector: str = "") -> Iterator[Object]:
        """Iterate over what `list` returns; only one page of it is in memory at a time.

        Raises:
            KubernetesError: a page can't be read, when its turn comes.
        """
        return self._iterate(kind, namespace, {"labelSelector": selector})

    def _iterate(self, kind: Kind, namespace: str | None, selectors: Mapping[str, str]) -> Iterator[Object]:
        query = {"limit": str(_PAGE), **selectors}
        while True:
            page = self._request("GET", f"{kind.path(namespace)}?{urlencode(query)}")
            yield from page["items"]
            query["continue"] = page["metadata"].get("continue", "")
            if not query["continue"]:
                return

    def create(self, kind: Kind, body: Object, *, dry_run: bool = False) -> Object:
        """See `KubernetesApi.create`."""
        path = kind.path(body["metadata"]["namespace"]) + ("?dryRun=All" if dry_run else "")
        return self._request("POST", path, {**_typed(kind), **body})

    def replace(self, kind: Kind, body: Object) -> Object:
        """See `KubernetesApi.replace`."""
        metadata = body["metadata"]
        return self._request("PUT", kind.path(metadata["namespace"], metadata["name"]), {**_typed(kind), **body})

    def patch(self, kind: Kind, namespace: str | None, name: str, body: Object, *, status: bool = False) -> Object:
        """See `KubernetesApi.patch`."""
        path = kind.path(namespace, name) + ("/status" if status else "")
        return self._request("PATCH", path, body, content_type=_MERGE_PATCH)

    def apply(self, kind: Kind, namespace: str | None, name: str, body: Object, *, manager: str) -> Object:
        """Create or change an object server-side: the fields in `body` become the manager's, all others stay.

        Raises:
            KubernetesError: it was not done.
        """
        query = urlencode({"fieldManager": manager, "force": "true"})
        path = f"{kind.path(namespace, name)}?{query}"
        return self._request("PATCH", path, {**_typed(kind), **body}, content_type=_APPLY_PATCH)

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, version: str | None = None
    ) -> None:
        """See `KubernetesApi.delete`."""
        conditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value is not None}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        try:
            self._request("DELETE", kind.path(namespace, name), {**body, "preconditions": conditions})
        except ObjectNotFoundError:
            return

    def close(self) -> None:
        """Release every connection; the client is not used again."""
        self._client.close()

    def _request(
        self, method: str, path: str, body: Object | None = None, *, content_type: str = "application/json"
    ) -> dict[str, Any]:
        headers = {"Accept": "application/json", "Content-Type": content_type}
        self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        text = None if body is None else json.dumps(body)
        try:
            response = self._client.rest_client.pool_manager.request(
                method,
                self._host + quote(path, safe="/?&=%"),
                body=text,
                headers=headers,
                timeout=self._timeout,
                retries=self._retries,
            )
        except (urllib3.exceptions.HTTPError, ApiException) as error:
            raise ServerUnavailableError(f"{method} {path}: {error}") from error
        try:
            answer = json.loads(response.data) if response.data else {}
        except ValueError:
            raise ServerUnavailableError(f"{method} {path}: status {response.status} without an object") from None
        if response.status >= 400:  # noqa: PLR2004 - the first error
            raise _error(response.status, answer)
        return dict(answer)


def _configure(configuration: client.Configuration, kubeconfig: Path | None) -> None:
    try:
        if kubeconfig is None:
            config.load_incluster_config(client_configuration=configuration)
            return
    except config.ConfigException:
        pass
    try:
        path = None if kubeconfig is None else str(kubeconfig)
        config.load_kube_config(config_file=path, client_configuration=configuration)
    except (config.ConfigException, OSError) as error:
        raise KubernetesError(f"no cluster: neither in a pod nor with a kubeconfig ({error})") from error


def _typed(kind: Kind) -> Object:
    return {"apiVersion": kind.api_version, "kind": kind.kind}


def _error(status: int, answer: object) -> KubernetesError:
    details = answer if isinstance(answer, dict) else {}
    message = str(details.get("message") or f"the API server answered {status}")
    if status == _NOT_FOUND:
        return ObjectNotFoundError(message)
    if status == _CONFLICT:
        exists = details.get("reason") == "AlreadyExists"
        return ObjectExistsError(message) if exists else VersionConflictError(message)
    if status == _TOO_MANY or status >= _FIRST_SERVER_ERROR:
        return ServerUnavailableError(message)
    return RequestRefusedError(message)
