"""What goes wrong on a cluster of containers: pods, the API server and nodes are killed, stopped or cut off.

A fault is aimed first, when the API server can still be asked who is where, then it strikes, and some time later it is
healed. Neither of these needs the API server.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from tools.cluster.cluster import Cluster
from tools.cluster.errors import ClusterError

from support import cluster_apps

_CONTROL_PLANE = "--selector=node-role.kubernetes.io/control-plane"
_SIGNAL = """
for file in $(grep -lsE '{pod}' /proc/[0-9]*/cgroup); do
  process=${{file#/proc/}}; process=${{process%/cgroup}}; name=$(cat /proc/$process/comm)
  [ "$name" = pause ] || {{ kill -{signal} $process && echo "$name"; }}
done
true
"""
"""Signals all processes of a pod but the one that holds its network, and names them."""
_CUT_POD = "for way in -s -d; do iptables -w {change} FORWARD $way {address} -j DROP; done"
_CUT_NODE = (
    "for way in 'INPUT -i' 'OUTPUT -o' 'FORWARD -i' 'FORWARD -o'; do iptables -w {change} $way eth0 -j DROP; done"
)
_ADD, _REMOVE = "-I", "-D"
_ORDER = ("deleted", "killed", "stopped", "cut off")


@dataclass(frozen=True, slots=True)
class Fault:
    """Who is met, what is done to it, and for how many seconds; what is killed at once has none."""

    victim: str
    deed: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.victim} {self.deed}" + (f" for {self.seconds:.0f} s" if self.seconds else "")


@dataclass(frozen=True, slots=True)
class Aimed:
    """A fault that knows whom it meets; its two steps return what they saw."""

    fault: Fault
    name: str
    strike: Callable[[], str]
    heal: Callable[[], str]

    @property
    def turn(self) -> tuple[bool, bool, int]:
        """The place among faults that strike together: first those that need the API server, or a node that works."""
        victim = self.fault.victim
        return victim in ("node", "control plane"), victim == "API server", _ORDER.index(self.fault.deed)

    def __str__(self) -> str:
        return f"{self.fault} ({self.name})"


_DEEDS: dict[str, dict[str, tuple[float, float]]] = {
    "driver": {"killed": (0, 0), "deleted": (0, 0), "stopped": (10, 40), "cut off": (10, 40)},
    "processor": {"killed": (0, 0), "deleted": (0, 0), "stopped": (10, 40), "cut off": (10, 40)},
    "operator": {"deleted": (0, 0), "stopped": (10, 40), "cut off": (10, 40)},
    "broker": {"killed": (0, 0), "stopped": (3, 6), "cut off": (10, 40)},
    "API server": {"killed": (0, 0), "stopped": (15, 45)},
    "node": {"killed": (15, 40), "stopped": (15, 40), "cut off": (15, 40)},
    "control plane": {"cut off": (15, 40)},
}
"""What is done to whom, and for how many seconds at least and at most. A broker that is the only one must not stand
still for longer than its session: it would forget how transactions ended."""


def every_fault(random: Random) -> list[Fault]:
    """Return one fault of each kind, in an order and for times that are drawn."""
    faults = [
        Fault(victim, deed, round(random.uniform(*span), 1))
        for victim, deeds in _DEEDS.items()
        for deed, span in deeds.items()
    ]
    random.shuffle(faults)
    return faults


class ClusterFaults:
    """Aims faults at an app, its operator, the Kafka that it uses, and what they run on."""

    def __init__(self, cluster: Cluster, namespace: str, app: str, kafka: str, random: Random) -> None:
        """Take the namespaces of the app and of Kafka."""
        self._cluster = cluster
        self._namespace = namespace
        self._app = app
        self._kafka = kafka
        self._random = random

    def aim(self, fault: Fault) -> Aimed | None:
        """Choose whom a fault meets; None if there is nobody.

        Raises:
            ClusterError: the API server does not answer.
        """
        if fault.victim == "API server":
            return self._aim_at_api_server(fault)
        if fault.victim in ("node", "control plane"):
            return self._aim_at_node(fault)
        pods = [pod for pod in self._pods(fault.victim) if pod["spec"].get("nodeName") and pod["status"].get("podIP")]
        return self._aim_at_pod(fault, self._random.choice(pods)) if pods else None

    def _pods(self, victim: str) -> list[dict]:
        if victim in ("driver", "processor"):
            return cluster_apps.pods(self._cluster, self._namespace, self._app, victim)
        home, label = (cluster_apps.HOME, "streamapp") if victim == "operator" else (self._kafka, "kafka")
        found = self._cluster.get("pods", f"--namespace={home}", f"--selector=app.kubernetes.io/name={label}")
        return [pod for pod in found if pod["status"].get("phase") == "Running"]

    def _aim_at_pod(self, fault: Fault, pod: dict) -> Aimed:
        name, namespace, node = pod["metadata"]["name"], pod["metadata"]["namespace"], pod["spec"]["nodeName"]
        told = f"{name} on {node}"
        uid = pod["metadata"]["uid"].replace("-", "[-_]")

        def signal(which: str) -> str:
            return self._on(node, _SIGNAL.format(pod=uid, signal=which))

        def delete() -> str:
            cluster_apps.kill(self._cluster, namespace, name)
            return "deleted"

        def kill_and_delete() -> str:
            return f"{signal('KILL')}; {delete()}"

        def cut(change: str) -> str:
            return self._on(node, _CUT_POD.format(change=change, address=pod["status"]["podIP"]))

        match fault.deed:
            case "killed" if fault.victim == "broker":  # a container that dies often is restarted later and later
                return Aimed(fault, told, kill_and_delete, _nothing)
            case "killed":
                return Aimed(fault, told, partial(signal, "KILL"), _nothing)
            case "deleted":
                return Aimed(fault, told, delete, _nothing)
            case "stopped":
                return Aimed(fault, told, partial(signal, "STOP"), partial(signal, "CONT"))
        return Aimed(fault, told, partial(cut, _ADD), partial(cut, _REMOVE))

    def _aim_at_api_server(self, fault: Fault) -> Aimed:
        (node,) = self._nodes(_CONTROL_PLANE)

        def signal(which: str) -> str:
            return self._on(node, f"pkill -{which} -e -x kube-apiserver")

        if fault.deed == "killed":
            return Aimed(fault, node, partial(signal, "KILL"), _nothing)
        return Aimed(fault, node, partial(signal, "STOP"), partial(signal, "CONT"))

    def _aim_at_node(self, fault: Fault) -> Aimed:
        """Choose a node. That of Kafka is only cut off: after a start it has another address, and Kafka with it."""
        workers = cluster_apps.workers(self._cluster)
        if fault.deed != "cut off":
            workers -= {pod["spec"]["nodeName"] for pod in self._pods("broker")}
        node = self._random.choice(self._nodes(_CONTROL_PLANE) if fault.victim == "control plane" else sorted(workers))

        def cut(change: str) -> str:
            return self._on(node, _CUT_NODE.format(change=change))

        match fault.deed:
            case "killed":
                return Aimed(fault, node, partial(self._run, "kill", node), partial(self._run, "start", node))
            case "stopped":
                return Aimed(fault, node, partial(self._run, "pause", node), partial(self._run, "unpause", node))
        return Aimed(fault, node, partial(cut, _ADD), partial(cut, _REMOVE))

    def _nodes(self, selector: str) -> list[str]:
        return [node["metadata"]["name"] for node in self._cluster.get("nodes", selector)]

    def _on(self, node: str, script: str) -> str:
        return self._run("exec", node, "sh", "-c", script)

    def _run(self, *command: str) -> str:
        if self._cluster.engine is None:
            raise ClusterError("the nodes of this cluster are not ours to break")
        return " ".join(self._cluster.engine.run(*command).split())


def _nothing() -> str:
    """Heal what heals by itself."""
    return ""
