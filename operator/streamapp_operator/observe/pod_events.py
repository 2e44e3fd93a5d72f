"""The events of pods whose containers are not created: only they say that a volume can't be mounted.

Events are not watched, as a cluster has many: those of one pod are read, while it waits on its node.
"""

import threading
from collections import OrderedDict
from datetime import datetime

from streamapp_operator.observe.pod_problems import PodProblem, find_event_problem
from streamapp_operator.observe.resource_views import EVENTS_INTERVAL, Pod
from streamapp_systems.kubernetes.kubernetes_api import Kind, KubernetesApi, KubernetesError, Object

_MAXIMUM_PODS = 10_000


class PodEvents:
    """Problems of pods, read from their events. May be used by many threads, of which each has another app."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._found: OrderedDict[str, tuple[datetime, PodProblem | None]] = OrderedDict()

    def find_problem(self, pod: Pod, item: Object, now: datetime) -> PodProblem | None:
        """Return why the containers of a pod that waits are not created; None if nothing is known.

        Its events are read at an interval; an API server that can't be asked changes nothing.
        """
        if not pod.waiting or pod.deleting_at is not None or now < pod.created_at + EVENTS_INTERVAL:
            return None
        with self._lock:
            read_at, problem = self._found.get(pod.uid, (pod.created_at, None))
        if now < read_at + EVENTS_INTERVAL:
            return problem
        try:
            events = self._api.list(Kind.EVENT, item["metadata"]["namespace"], fields=f"involvedObject.uid={pod.uid}")
        except KubernetesError:
            events = None
        if events is not None:
            problem = find_event_problem(item, events)
        self._remember(pod.uid, now, problem)
        return problem

    def _remember(self, uid: str, now: datetime, problem: PodProblem | None) -> None:
        with self._lock:
            self._found[uid] = (now, problem)
            self._found.move_to_end(uid)
            while len(self._found) > _MAXIMUM_PODS:
                self._found.popitem(last=False)
