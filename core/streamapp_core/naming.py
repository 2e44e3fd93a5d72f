"""The names an app has outside itself, each made in one place: what one module names, another one finds.

All that an app has in its systems begins with one prefix. It is never that of another app's names, unless
`spec.namePrefix` makes it so: names of apps, namespaces, runs, operators and processors are DNS labels, so they have no
dots, and the names of our own streams begin with `_`, which no label does.
"""

from typing import Protocol

DEFAULT_NAMESPACE = "default"
"""The namespace of an app that has none, on a laptop."""

CHANGELOG = "_changelog"
COORDINATOR = "_coordinator"
DEAD_LETTERS = "_dead-letters"
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


def name_prefix(app: NamedApp, beginning: str | None = None) -> str:
    """Return the beginning of all names that an app has in its systems: `<beginning>.<app>`, by default its namespace.

    It is also the name of its consumer group, and the id of its clients.
    """
    return f"{beginning or app.namespace or DEFAULT_NAMESPACE}.{app.name}"


def transactional_prefix(prefix: str, run_id: str) -> str:
    """Return the beginning of the transactional ids of a run, which a processor's id ends: `<prefix>.<run id>.`."""
    return f"{prefix}.{run_id}."


def coordinator_transactional_id(prefix: str) -> str:
    """Return the id that the drivers of an app take over from each other: `<prefix>._coordinator`."""
    return f"{prefix}.{COORDINATOR}"


def old_transactional_prefix(app: IdentifiedApp, run_id: str) -> str:
    """Return how the transactional ids of runs begin that do not have the app's prefix: `<app id>-<run id>-`."""
    return f"{app_id(app)}-{run_id}-"


def old_coordinator_transactional_id(app: IdentifiedApp) -> str:
    """Return the id that the drivers of such runs take over from each other: `<app id>-coordinator`."""
    return f"{app_id(app)}-{COORDINATOR.removeprefix('_')}"


def stream_prefix(prefix: str) -> str:
    """Return the beginning of the addresses of all streams made for an app: `<prefix>.`."""
    return f"{prefix}."


def run_stream_address(prefix: str, run_id: str, stream: str) -> str:
    """Return the address of a stream made for a run: `<prefix>.<run id>.<operator>`, or `CHANGELOG` at the end."""
    return f"{stream_prefix(prefix)}{run_id}.{stream}"


def coordinator_stream_address(prefix: str) -> str:
    """Return the address of the coordinator stream, which outlives the runs of its app: `<prefix>._coordinator`."""
    return f"{stream_prefix(prefix)}{COORDINATOR}"


def dead_letter_stream_address(prefix: str) -> str:
    """Return the address of the records that an app could not read, of all its runs: `<prefix>._dead-letters`."""
    return f"{stream_prefix(prefix)}{DEAD_LETTERS}"


def app_state_path(app: IdentifiedApp) -> str:
    """Return where the state of all runs of an app lies, below the folder of all state: `<app id>`."""
    return app_id(app)


def run_state_path(app: IdentifiedApp, run_id: str) -> str:
    """Return where the state of a run lies, below the folder of all state: `<app id>/<run id>`."""
    return f"{app_state_path(app)}/{run_id}"


def local_run_path(app: str) -> str:
    """Return where `streamapp run` keeps an app's state and metadata, beside its YAML file: `.streamapp/<app>`."""
    return f".streamapp/{app}"
