"""The informer: a first listing, watches, and a resync from time to time keep the object cache equal to the cluster.

kopf watches; its handlers are a few lines and write nothing: `on.event` handlers have no state, no annotations and no
finalizers. The first listing is ours, so that no decision is made from a part of the objects.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import kopf

from streamapp_operator.observe.namespace_selection import NamespaceSelection
from streamapp_operator.observe.object_cache import WATCHED, ObjectCache, find_app_key
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.kubernetes.kubernetes_api import Kind, Object

Enqueue = Callable[[AppKey], object]
"""Enqueues an app whose objects have changed."""


class ListingApi(Protocol):
    """The reads of an informer."""

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """See `KubernetesApi.get`."""
        ...

    def iterate(self, kind: Kind, namespace: str | None, selector: str = "") -> Iterator[Object]:
        """Iterate over what `KubernetesApi.list` returns, of which only a part is in memory at a time."""
        ...


@dataclass(frozen=True, slots=True)
class _Listing:
    """The uids of all objects of a kind, and those objects that are newer than the cache."""

    uids: set[str] = field(default_factory=set)
    newer: list[Object] = field(default_factory=list)


class Informer:
    """Keeps the object cache up to date, and enqueues the apps whose objects change."""

    def __init__(self, api: ListingApi, cache: ObjectCache, enqueue: Enqueue, namespaces: NamespaceSelection) -> None:
        self._api = api
        self._cache = cache
        self._enqueue = enqueue
        self._namespaces = namespaces

    def handle_event(self, event: str | None, kind: Kind, item: Object) -> None:
        """Apply an event of a watch: ADDED, MODIFIED, DELETED, or None for an object that the watch began with."""
        if event == "DELETED":
            self._cache.remove(kind, item)
        elif not self._cache.put(kind, item):
            return
        self._enqueue_selected(find_app_key(kind, item))

    def handle_namespace_event(self, event: str | None, item: Object) -> None:
        """Apply an event of the watch of the namespaces that match the selector."""
        change = self._namespaces.remove if event == "DELETED" else self._namespaces.add
        if change(item):
            self._enqueue_all_of({item["metadata"]["name"]})

    def list_all(self) -> None:
        """Fill the cache, before anything is decided.

        Raises:
            KubernetesError: the API server can't be reached.
        """
        self._namespaces.correct({}, self._list_namespaces())
        for kind in WATCHED:
            for item in self._iterate(kind):
                self._cache.put(kind, item)
        for key in self._cache.list_apps():
            self._enqueue_selected(key)

    def resync(self, pause: Callable[[], object]) -> int:
        """List all objects, apply the changes that the watches missed, and return how many objects those were.

        `pause` gives the watches time to catch up with the listing.

        Raises:
            KubernetesError: the API server can't be reached.
        """
        selected = self._namespaces.snapshot()
        known = {kind: list(self._cache.list_kind(kind)) for kind in WATCHED}
        namespaces = self._list_namespaces()
        listed = {kind: self._compare(kind) for kind in WATCHED}
        pause()
        missed = self._namespaces.correct(selected, namespaces)
        self._enqueue_all_of(missed)
        return len(missed) + sum(self._apply_missed(kind, known[kind], listed[kind]) for kind in WATCHED)

    def _compare(self, kind: Kind) -> _Listing:
        """Compare the objects of a kind with the cache: a listing of a large cluster does not fit in memory twice."""
        listing = _Listing()
        for item in self._iterate(kind):
            listing.uids.add(item["metadata"]["uid"])
            if not self._cache.is_outdated(kind, item):
                listing.newer.append(item)
        return listing

    def _apply_missed(self, kind: Kind, known: Sequence[Object], listing: _Listing) -> int:
        unlisted = {item["metadata"]["uid"] for item in self._cache.list_kind(kind)} - listing.uids
        gone = [item for item in known if item["metadata"]["uid"] in unlisted and self._is_gone(kind, item)]
        for item in gone:
            self.handle_event("DELETED", kind, item)
        newer = [item for item in listing.newer if self._cache.put(kind, item)]
        for item in newer:
            self._enqueue_selected(find_app_key(kind, item))
        return len(gone) + len(newer)

    def _is_gone(self, kind: Kind, item: Object) -> bool:
        """Return whether an object is gone: one that is not in a listing may have been created after it."""
        metadata = item["metadata"]
        found = self._api.get(kind, metadata["namespace"], metadata["name"])
        return found is None or found["metadata"]["uid"] != metadata["uid"]

    def _iterate(self, kind: Kind) -> Iterator[Object]:
        for namespace in self._namespaces.names or (None,):
            yield from self._api.iterate(kind, namespace, WATCHED[kind])

    def _list_namespaces(self) -> Sequence[Object]:
        selector = self._namespaces.selector
        return list(self._api.iterate(Kind.NAMESPACE, None, selector)) if selector else ()

    def _enqueue_selected(self, key: AppKey) -> None:
        if self._namespaces.includes(key.namespace):
            self._enqueue(key)

    def _enqueue_all_of(self, namespaces: Collection[str]) -> None:
        """Enqueue the apps of namespaces that were added or removed: also what is no longer run is to be forgotten."""
        for key in self._cache.list_apps() if namespaces else ():
            if key.namespace in namespaces:
                self._enqueue(key)


def register_watches(
    registry: kopf.OperatorRegistry, settings: kopf.OperatorSettings, informer: Informer, namespace_selector: str
) -> None:
    """Register a watch of kopf for every kind that is cached, filtered by the API server.

    With a selector there is one of the namespaces that match it, too.
    """
    if namespace_selector:
        settings.watching.label_selectors["", "v1", Kind.NAMESPACE.plural] = namespace_selector
        _register_namespace_watch(registry, informer)
    for kind, selector in WATCHED.items():
        group, _, version = kind.api_version.rpartition("/")
        if selector:
            settings.watching.label_selectors[group, version, kind.plural] = selector
        _register_watch(registry, group, version, kind, informer)


def _register_watch(registry: kopf.OperatorRegistry, group: str, version: str, kind: Kind, informer: Informer) -> None:
    @kopf.on.event(group, version, kind.plural, registry=registry, id=kind.plural)  # type: ignore[untyped-decorator]
    async def handle(event: kopf.RawEvent, **_: Any) -> None:
        informer.handle_event(event["type"], kind, event["object"])


def _register_namespace_watch(registry: kopf.OperatorRegistry, informer: Informer) -> None:
    @kopf.on.event("", "v1", Kind.NAMESPACE.plural, registry=registry, id="namespaces")  # type: ignore[untyped-decorator]
    async def handle(event: kopf.RawEvent, **_: Any) -> None:
        informer.handle_namespace_event(event["type"], event["object"])
