"""The requests to a Kubernetes API server that are used here, and their errors.

Objects are JSON as the server gives it. Everything is by name: a caller that does not know whether its last request was
carried out makes it again.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from streamapp_systems.protocols import Unavailable

Object = Mapping[str, Any]
"""An object of Kubernetes, as JSON. Nobody changes one that was given to them."""


class Kind(Enum):
    """The kinds of objects that are used here: apiVersion, plural."""

    APP = ("streamapp.dev/v1alpha1", "StreamApp", "streamapps")
    POD = ("v1", "Pod", "pods")
    CONFIG_MAP = ("v1", "ConfigMap", "configmaps")
    SERVICE = ("v1", "Service", "services")
    SERVICE_ACCOUNT = ("v1", "ServiceAccount", "serviceaccounts")
    ROLE_BINDING = ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
    SECRET = ("v1", "Secret", "secrets")
    VOLUME_CLAIM = ("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
    LEASE = ("coordination.k8s.io/v1", "Lease", "leases")
    NETWORK_POLICY = ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
    NAMESPACE = ("v1", "Namespace", "namespaces")
    EVENT = ("v1", "Event", "events")
    DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
    VALIDATING_WEBHOOK = (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    )

    def __init__(self, api_version: str, kind: str, plural: str) -> None:
        self.api_version = api_version
        self.kind = kind
        self.plural = plural

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Return the path of an object, or of all of a namespace or of the cluster (None)."""
        prefix = "/api" if "/" not in self.api_version else "/apis"
        within = "" if namespace is None else f"/namespaces/{namespace}"
        return f"{prefix}/{self.api_version}{within}/{self.plural}" + ("" if name is None else f"/{name}")


class KubernetesError(Exception):
    """The API server did not do what was asked; the message is its own."""


class ObjectNotFoundError(KubernetesError):
    """The object, or its namespace, is not there."""


class ObjectExistsError(KubernetesError):
    """An object of this name is there already."""


class VersionConflictError(KubernetesError):
    """The object has been changed, or is another one, since it was read: read it again, and decide again."""


class RequestRefusedError(KubernetesError):
    """The API server refuses this: by its rules, its admission, a quota or missing rights. A retry is of no use."""


class ServerUnavailableError(KubernetesError, Unavailable):
    """The API server can't be reached, is overloaded or failed: whether it was done is not known. Try again."""


class KubernetesApi(Protocol):
    """An API server. Every method may raise any `KubernetesError`. Used by many threads."""

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """Look an object up, in a namespace or outside of all (None); None if it is not there."""
        ...

    def list(self, kind: Kind, namespace: str | None, selector: str = "", *, fields: str = "") -> Sequence[Object]:
        """Return all objects of a kind in a namespace (None: in all) whose labels and fields match these selectors."""
        ...

    def create(self, kind: Kind, body: Object, *, dry_run: bool = False) -> Object:
        """Create an object, in the namespace that it names; in a dry run the server only says whether it would.

        Raises:
            ObjectExistsError: there is one of this name.
        """
        ...

    def replace(self, kind: Kind, body: Object) -> Object:
        """Put an object in the place of one; if it has a resourceVersion, only of that version.

        Raises:
            ObjectNotFoundError: there is none.
            VersionConflictError: it has another version.
        """
        ...

    def patch(self, kind: Kind, namespace: str | None, name: str, body: Object, *, status: bool = False) -> Object:
        """Change fields of an object, or of its status, by a JSON merge patch (RFC 7386).

        With `metadata.resourceVersion` in the patch, only of that version.

        Raises:
            ObjectNotFoundError: there is none.
            VersionConflictError: it has another version.
        """
        ...

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str | None = None, version: str | None = None
    ) -> None:
        """Remove an object, whether it is there or not; with `uid` or `version`, only that very one.

        Raises:
            VersionConflictError: it is another one.
        """
        ...
