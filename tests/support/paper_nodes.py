"""Nodes that are only on paper, and which of them a pod goes to.

Of the nodes that a pod's node selector and required node affinity allow, the one that its preferences weigh most for;
of several, the one with the fewest pods; of several, the first by name.
"""

import threading
from collections import Counter

HOST_NAME = "kubernetes.io/hostname"


class PaperNodes:
    """Nodes by name with their labels, and the pods that were given to them."""

    def __init__(self, nodes):
        self.labels = {name: {HOST_NAME: name, **labels} for name, labels in sorted(nodes.items())}
        self._taken = {}
        self._lock = threading.Lock()

    def take(self, pod):
        """Return the node of a pod, always the same one; None if it fits nowhere."""
        with self._lock:
            uid = pod["metadata"]["uid"]
            fitting = [name for name, labels in self.labels.items() if fits(pod, labels)]
            if fitting and uid not in self._taken:
                load = Counter(self._taken.values())
                self._taken[uid] = min(fitting, key=lambda name: (-liking(pod, self.labels[name]), load[name], name))
            return self._taken.get(uid)

    def pods(self):
        """Name the pods that have a node, by UID."""
        with self._lock:
            return set(self._taken)

    def free(self, uids):
        """Forget pods that are gone."""
        with self._lock:
            for uid in uids:
                self._taken.pop(uid, None)


def fits(pod, labels):
    """Return whether a pod may run on a node with these labels."""
    selector = pod["spec"].get("nodeSelector", {})
    required = _affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = required["nodeSelectorTerms"] if required else [{}]
    return selector.items() <= labels.items() and any(_holds(term, labels) for term in terms)


def liking(pod, labels):
    """Return the weight of a pod's preferences that a node with these labels meets."""
    preferred = _affinity(pod).get("preferredDuringSchedulingIgnoredDuringExecution", [])
    return sum(wish["weight"] for wish in preferred if _holds(wish["preference"], labels))


def _affinity(pod):
    return pod["spec"].get("affinity", {}).get("nodeAffinity", {})


def _holds(term, labels):
    return all(_meets(expression, labels) for expression in term.get("matchExpressions", []))


def _meets(expression, labels):
    found = labels.get(expression["key"])
    values = expression.get("values", [])
    return {
        "In": found in values,
        "NotIn": found not in values,
        "Exists": found is not None,
        "DoesNotExist": found is None,
    }[expression["operator"]]
