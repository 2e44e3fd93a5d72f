"""The namespaces whose apps are run: all, those that are named, or those whose labels a selector matches now.

Of a selector the API server makes a listing and a watch: a namespace that loses its label is an end in the watch.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from streamapp_systems.kubernetes.kubernetes_api import Object

_MAXIMUM_LEFT = 10_000


class NamespaceSelection:
    """The selected namespaces. Used by many threads."""

    def __init__(self, names: Sequence[str] = (), selector: str = "") -> None:
        """Select by names or by labels; with neither all namespaces are selected."""
        self.names = tuple(names)
        self.selector = selector
        self._lock = threading.Lock()
        self._matching: dict[str, int] = {}
        self._left: OrderedDict[str, int] = OrderedDict()

    def includes(self, namespace: str) -> bool:
        """Return whether the apps of a namespace are run."""
        return not self.selector or namespace in self._matching

    def add(self, item: Object) -> bool:
        """Note a namespace that matches; return whether it did not before."""
        name, version = _named(item)
        with self._lock:
            if version <= self._left.get(name, -1):
                return False
            self._left.pop(name, None)
            new = name not in self._matching
            self._matching[name] = max(version, self._matching.get(name, 0))
            return new

    def remove(self, item: Object) -> bool:
        """Note a namespace that matches no more, or is gone; return whether it did before."""
        return self._remove(*_named(item))

    def snapshot(self) -> Mapping[str, int]:
        """Return the namespaces that match, with the versions of them that are known."""
        with self._lock:
            return dict(self._matching)

    def correct(self, before: Mapping[str, int], listed: Sequence[Object]) -> Sequence[str]:
        """Note a listing, and return the names of the namespaces that it added or removed.

        Args:
            before: the snapshot from before the listing.
            listed: all namespaces that match.
        """
        found = {item["metadata"]["name"] for item in listed}
        gone = [name for name, version in before.items() if name not in found and self._remove(name, version)]
        return [*gone, *(item["metadata"]["name"] for item in listed if self.add(item))]

    def _remove(self, name: str, version: int) -> bool:
        with self._lock:
            if self._matching.get(name, -1) > version:
                return False
            self._left[name] = max(version, self._left.pop(name, -1))
            if len(self._left) > _MAXIMUM_LEFT:
                self._left.popitem(last=False)
            return self._matching.pop(name, None) is not None


def _named(item: Object) -> tuple[str, int]:
    return item["metadata"]["name"], int(item["metadata"]["resourceVersion"])
