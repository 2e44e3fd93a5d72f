"""A stand-in for the scheduler and the kubelets: pods go to nodes that are only on paper, and do what a test says.

A new pod is assigned to a node (see `support.paper_nodes`), then it gets the state of its fate. A pod that is deleted
is gone at once. Nothing runs: only the pods' states are written. Writes that are refused for now are retried.
"""

import itertools
import json
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum, auto
from ipaddress import IPv4Address

from kubernetes import client
from urllib3.exceptions import HTTPError

from support.paper_nodes import PaperNodes
from support.waiting import eventually

FIRST_ADDRESS = IPv4Address("10.1.0.1")
NOT_FOUND = 404
STRATEGIC = "application/strategic-merge-patch+json"


class Fate(Enum):
    """The state that a new pod gets."""

    RUNNING = auto()
    SUCCEEDED = auto()
    FAILED = auto()
    UNSCHEDULABLE = auto()
    IMAGE_PULL_BACK_OFF = auto()
    CRASH_LOOP_BACK_OFF = auto()
    CONFIG_ERROR = auto()
    MOUNT_ERROR = auto()
    LEFT_ALONE = auto()


WAITING = {
    Fate.IMAGE_PULL_BACK_OFF: ("ImagePullBackOff", "Back-off pulling image"),
    Fate.CRASH_LOOP_BACK_OFF: ("CrashLoopBackOff", "back-off 10s restarting failed container"),
    Fate.CONFIG_ERROR: ("CreateContainerConfigError", "a Secret or ConfigMap was not found"),
    Fate.MOUNT_ERROR: ("ContainerCreating", ""),
}
NOT_NOW = {409, 429, 500, 503, 504}
"""Answers of the API server when the pod has changed meanwhile, or when it has too much to do."""
ENDED = {Fate.SUCCEEDED: ("Succeeded", 0, "Completed"), Fate.FAILED: ("Failed", 1, "Error")}


def named_fate(pod):
    """Return the fate whose name the pod's name holds, in small letters; other pods run."""
    name = pod["metadata"]["name"]
    return next((fate for fate in Fate if fate.name.lower().replace("_", "-") in name), Fate.RUNNING)


class Kubelet:
    """The stand-in. `with Kubelet(api_client, namespace) as kubelet:` registers the nodes and begins.

    It sees the pods of that namespace only. `fate` is a function from a new pod, as JSON, to its fate; `become` changes
    a pod's state later. `nodes` are names with labels. With
    `assign=False` pods wait for a scheduler.
    """

    def __init__(self, api_client, namespace, nodes=None, *, fate=named_fate, assign=True):
        self._api = client.CoreV1Api(api_client)
        self._namespace = namespace
        self._nodes = PaperNodes(nodes or {"node-a": {}, "node-b": {}, "node-c": {}})
        self._fate = fate
        self._assign = assign
        self._turns = {}
        self._numbers = itertools.count()
        self._stopped = threading.Event()
        self._stream = None
        self._pool = ThreadPoolExecutor(max_workers=8)
        self._watcher = threading.Thread(target=self._watch)
        self.errors = []

    def __enter__(self):
        for name, labels in self._nodes.labels.items():
            self._register(name, labels)
        self._watcher.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        while self._watcher.is_alive():
            with suppress(AttributeError, OSError, ValueError, RuntimeError):
                self._stream.shutdown()
            self._watcher.join(timeout=0.1)
        self._pool.shutdown()
        for name in self._nodes.labels:
            self._api.delete_node(name)
        assert not self.errors, self.errors

    def become(self, name, fate):
        """Change a pod's state now, but after its first one."""
        pod = self._read(name)
        self._notice(pod)
        if turn := self._turns.get((pod["metadata"]["uid"], "begin")):
            turn.result()
        self._retry(self._read(name), lambda found: self._write_state(found, fate))

    def _read(self, name):
        return json.loads(self._api.read_namespaced_pod(name, self._namespace, _preload_content=False).data)

    def _register(self, name, labels):
        room = {"cpu": "64", "memory": "256Gi", "pods": "10000"}
        self._api.create_node({"metadata": {"name": name, "labels": labels}})
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}
        status = {"allocatable": room, "capacity": room, "conditions": [ready]}
        self._api.patch_node_status(name, {"status": status})
        self._api.patch_node(name, {"spec": {"taints": None}})  # new nodes are marked as not ready

    def _watch(self):
        """Watch the pods; list them again when the API server ends a watch."""
        while not self._stopped.is_set():
            with suppress(HTTPError, OSError, client.ApiException):
                placed = self._nodes.pods()
                listed = json.loads(self._api.list_namespaced_pod(self._namespace, _preload_content=False).data)
                self._nodes.free(placed - {pod["metadata"]["uid"] for pod in listed["items"]})
                for pod in listed["items"]:
                    self._notice(pod)
                self._follow(listed["metadata"]["resourceVersion"])

    def _follow(self, version):
        self._stream = self._api.list_namespaced_pod(
            self._namespace, watch=True, resource_version=version, timeout_seconds=600, _preload_content=False
        )
        rest = b""
        for chunk in self._stream.stream(amt=None):
            if self._stopped.is_set():
                return  # what comes of a connection that was shut down may be its encrypted bytes
            *lines, rest = (rest + chunk).split(b"\n")
            for event in map(json.loads, lines):
                if event["type"] == "ERROR":
                    return
                if event["type"] == "DELETED":
                    self._nodes.free({event["object"]["metadata"]["uid"]})
                else:
                    self._notice(event["object"])

    def _notice(self, pod):
        """Begin a pod that is new (and assigned), and end one that is deleted, each once."""
        metadata = pod["metadata"]
        new = "containerStatuses" not in pod["status"] and (self._assign or "nodeName" in pod["spec"])
        call = "end" if "deletionTimestamp" in metadata else "begin" if new else None
        turn = Future()
        if call and self._turns.setdefault((metadata["uid"], call), turn) is turn:
            self._pool.submit(self._act, pod, call, turn)

    def _act(self, pod, call, turn):
        try:
            self._retry(pod, self._end if call == "end" else self._begin)
        except client.ApiException as error:
            if error.status != NOT_FOUND:  # else it is gone meanwhile
                self.errors.append(error.body)
        except Exception as error:  # noqa: BLE001 - shown at the end, as nobody waits for this
            self.errors.append(repr(error))
        finally:
            turn.set_result(None)

    def _retry(self, pod, write):
        """Write to a pod; while the API server refuses it for now, retry with the pod as it is then."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]

        def taken():
            nonlocal pod
            try:
                write(pod)
            except client.ApiException as error:
                if error.status not in NOT_NOW:
                    raise
                pod = self._read(name)
                return pod["metadata"]["uid"] != uid
            return True

        assert eventually(taken), f"the API server does not let pod {name} change"

    def _begin(self, pod):
        if "deletionTimestamp" not in pod["metadata"]:  # else its end is another call
            self._write_state(pod, self._fate(pod))

    def _end(self, pod):
        metadata = pod["metadata"]
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
        self._api.delete_namespaced_pod(metadata["name"], self._namespace, body=body)

    def _write_state(self, pod, fate):
        if fate is Fate.LEFT_ALONE:
            return
        if fate is Fate.UNSCHEDULABLE or not self._assign_node(pod):
            status = unschedulable()
        else:
            status = state(pod, fate, pod["status"].get("podIP") or str(FIRST_ADDRESS + next(self._numbers)))
        name, body = pod["metadata"]["name"], {"status": status}
        self._api.patch_namespaced_pod_status(name, self._namespace, body, _content_type=STRATEGIC)
        if fate is Fate.MOUNT_ERROR:
            self._emit_failed_mount(pod)

    def _emit_failed_mount(self, pod):
        """Write the event with which a kubelet says that a volume can't be mounted: nothing else does."""
        involved = {"kind": "Pod", "namespace": self._namespace, **{k: pod["metadata"][k] for k in ("name", "uid")}}
        event = {
            "metadata": {"generateName": "failed-mount-"},
            "involvedObject": involved,
            "type": "Warning",
            "reason": "FailedMount",
            "message": 'MountVolume.SetUp failed for volume "login" : secret "login" not found',
            "lastTimestamp": now(),
        }
        self._api.create_namespaced_event(self._namespace, event)

    def _assign_node(self, pod):
        """Bind a pod to a node if it has none; return whether there is one that it fits."""
        if "nodeName" in pod["spec"]:
            return True
        node, name = self._nodes.take(pod), pod["metadata"]["name"]
        if node:
            body = {"metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
            self._api.create_namespaced_pod_binding(name, self._namespace, body, _preload_content=False)
        return node is not None


def unschedulable():
    """Return the state of a pod that fits no node."""
    return {"phase": "Pending", "conditions": [condition("PodScheduled", False, "Unschedulable", "0/3 nodes fit")]}


def state(pod, fate, address):
    """Return the state of a pod that is on a node."""
    phase = ENDED[fate][0] if fate in ENDED else "Running" if fate is Fate.RUNNING else "Pending"
    running = fate is Fate.RUNNING
    reason = {Fate.SUCCEEDED: "PodCompleted", Fate.FAILED: "PodFailed"}.get(fate, "ContainersNotReady")
    return {
        "phase": phase,
        "hostIP": "192.0.2.1",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now(),
        "conditions": [
            condition("PodScheduled", True),
            condition("Initialized", True),
            condition("ContainersReady", running, reason),
            condition("Ready", running, reason),
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": running,
                "started": running,
                "restartCount": 3 if fate is Fate.CRASH_LOOP_BACK_OFF else 0,
                "state": container_state(fate),
            }
            for container in pod["spec"]["containers"]
        ],
    }


def container_state(fate):
    if fate in WAITING:
        reason, message = WAITING[fate]
        return {"running": None, "terminated": None, "waiting": {"reason": reason, "message": message}}
    if fate in ENDED:
        _, code, reason = ENDED[fate]
        end = {"exitCode": code, "reason": reason, "startedAt": now(), "finishedAt": now()}
        return {"running": None, "waiting": None, "terminated": end}
    return {"waiting": None, "terminated": None, "running": {"startedAt": now()}}


def condition(kind, holds, reason="", message=""):
    told = {} if holds else {"reason": reason, "message": message}
    return {"type": kind, "status": str(holds), "lastTransitionTime": now(), **told}


def now():
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
