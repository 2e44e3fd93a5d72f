"""What keeps the cache true: a first listing, the watches, and a comparison from time to time.

kopf watches; its handlers are a few lines and write nothing: `on.event` handlers have no state, no annotations and no
finalizers. The first listing is ours, so that no decision is made from half of a picture.
"""

from collections.abc import Callable, Sequence
from typing import Any

import kopf

from streamapp_operator.observe.object_cache import WATCHED, ObjectCache, app_of
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, Object

Changed = Callable[[AppKey], object]


class Informer:
    """Takes in what happens to objects, and says which apps it concerns."""

    def __init__(self, api: KubernetesApi, cache: ObjectCache, changed: Changed, namespaces: Sequence[str]) -> None:
        self._api = api
        self._cache = cache
        self._changed = changed
        self._namespaces: Sequence[str | None] = namespaces or (None,)

    def take_in(self, change: str | None, kind: Kind, item: Object) -> None:
        """Take in an event of a watch: ADDED, MODIFIED, DELETED, or None for what was there before."""
        if change == "DELETED":
            self._cache.remove(kind, item)
        elif not self._cache.put(kind, item):
            return
        self._changed(app_of(kind, item))

    def fill(self) -> None:
        """List everything, before anything is decided.

        Raises:
            KubernetesError: the API server can't be asked.
        """
        for kind in WATCHED:
            for item in self._everything(kind):
                self._cache.put(kind, item)
        for key in self._cache.apps():
            self._changed(key)

    def compare(self, pause: Callable[[], object]) -> int:
        """Find what the watches have missed, take it in, and tell how many objects it was.

        `pause` gives the watches time to catch up with the listing.

        Raises:
            KubernetesError: the API server can't be asked.
        """
        known = {kind: list(self._cache.everything(kind)) for kind in WATCHED}
        found = {kind: self._everything(kind) for kind in WATCHED}
        pause()
        return sum(self._missed(kind, known[kind], found[kind]) for kind in WATCHED)

    def _missed(self, kind: Kind, known: Sequence[Object], found: Sequence[Object]) -> int:
        there = {item["metadata"]["uid"] for item in found}
        cached = {item["metadata"]["uid"] for item in self._cache.everything(kind)}
        gone = [item for item in known if item["metadata"]["uid"] in cached - there and self._is_gone(kind, item)]
        for item in gone:
            self.take_in("DELETED", kind, item)
        newer = [item for item in found if self._cache.put(kind, item)]
        for item in newer:
            self._changed(app_of(kind, item))
        return len(gone) + len(newer)

    def _is_gone(self, kind: Kind, item: Object) -> bool:
        """Look again: what is not in a listing may have been made after it."""
        metadata = item["metadata"]
        found = self._api.get(kind, metadata["namespace"], metadata["name"])
        return found is None or found["metadata"]["uid"] != metadata["uid"]

    def _everything(self, kind: Kind) -> list[Object]:
        return [item for space in self._namespaces for item in self._api.list(kind, space, WATCHED[kind])]


def register(registry: kopf.OperatorRegistry, settings: kopf.OperatorSettings, watching: Informer) -> None:
    """Let kopf watch every kind that is cached, filtered by the API server."""
    for kind, selector in WATCHED.items():
        group, _, version = kind.api_version.rpartition("/")
        if selector:
            settings.watching.label_selectors[group, version, kind.plural] = selector
        _register(registry, group, version, kind, watching)


def _register(registry: kopf.OperatorRegistry, group: str, version: str, kind: Kind, watching: Informer) -> None:
    @kopf.on.event(group, version, kind.plural, registry=registry, id=kind.plural)  # type: ignore[untyped-decorator]
    async def seen(event: kopf.RawEvent, **_: Any) -> None:
        watching.take_in(event["type"], kind, event["object"])
