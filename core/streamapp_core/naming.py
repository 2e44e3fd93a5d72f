"""The names an app has outside itself, each made in one place: what one module names, another one finds.

A prefix of one app is never one of another app's names: names of apps, namespaces, runs, operators and processors are
DNS labels, so they have no dots, and the names of our own streams begin with `_`, which no label does.
"""

from typing import Protocol

DEFAULT_NAMESPACE = "default"
"""The namespace of an app that has none, on a laptop."""

CHANGELOG = "_changelog"
COORDINATOR = "_coordinator"
"""Our own streams among those of an app; no operator can have such a name."""


class NamedApp(Protocol):
    """An app by its namespace and name, as people know it."""

    @property
    def namespace(self) -> str | None:
        """The namespace; None outside Kubernetes."""
        ...

    @property
    def name(self) -> str:
        """The name, unique in the namespace."""
        ...


class IdentifiedApp(Protocol):
    """An app by what distinguishes it from an earlier app of its name."""

    @property
    def uid(self) -> str | None:
        """The uid of the resource; None outside Kubernetes."""
        ...

    @property
    def name(self) -> str:
        """The name, unique in the namespace."""
        ...


def app_id(app: IdentifiedApp) -> str:
    """Return the uid of an app, or its name where it has none."""
    return app.uid or app.name


def transactional_id(app: IdentifiedApp, run_id: str, processor: str) -> str:
    """Return the id a processor's transactions are fenced by: `<app id>-<run id>-<processor>`."""
    return f"{app_id(app)}-{run_id}-{processor}"


def coordinator_transactional_id(app: IdentifiedApp) -> str:
    """Return the id the drivers of an app take over from each other: `<app id>-coordinator`."""
    return f"{app_id(app)}-{COORDINATOR.removeprefix('_')}"


def consumer_group(app: NamedApp) -> str:
    """Return the consumer group that shows how far an app has read: `<namespace>.<app>`."""
    return f"{app.namespace or DEFAULT_NAMESPACE}.{app.name}"


def stream_prefix(app: NamedApp) -> str:
    """Return the beginning of the addresses of all streams made for an app, and of no other app's: `<group>.`."""
    return f"{consumer_group(app)}."


def run_stream_address(app: NamedApp, run_id: str, stream: str) -> str:
    """Return the address of a stream made for a run: `<group>.<run id>.<operator>`, or `CHANGELOG` at the end."""
    return f"{stream_prefix(app)}{run_id}.{stream}"


def coordinator_stream_address(app: NamedApp) -> str:
    """Return the address of the coordinator stream, which outlives the runs of its app: `<group>._coordinator`."""
    return f"{stream_prefix(app)}{COORDINATOR}"


def app_state_path(app: IdentifiedApp) -> str:
    """Return where the state of all runs of an app lies, below the folder of all state: `<app id>`."""
    return app_id(app)


def run_state_path(app: IdentifiedApp, run_id: str) -> str:
    """Return where the state of a run lies, below the folder of all state: `<app id>/<run id>`."""
    return f"{app_state_path(app)}/{run_id}"


def local_run_path(app: str) -> str:
    """Return where `streamapp run` keeps an app's state and metadata, beside its YAML file: `.streamapp/<app>`."""
    return f".streamapp/{app}"
