"""The cluster itself: its network, the loss of a node, and what is left of others."""

import json

from tools.cluster.cached import default_cache
from tools.cluster.check import Missing
from tools.cluster.lifecycle import down

from support import cluster_apps, cluster_leftovers
from support.machine import need

SERVER = """
import http.server, os
class Name(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["HOSTNAME"].encode())
http.server.HTTPServer(("", 8080), Name).serve_forever()
"""
CLIENT = """
import os, time, urllib.request
wanted, names = set(os.environ["NAMES"].split()), set()
until = time.monotonic() + 120
while not wanted <= names and time.monotonic() < until:
    try:
        names.add(urllib.request.urlopen(os.environ["URL"], timeout=10).read().decode())
    except OSError:
        time.sleep(0.1)
print(" ".join(sorted(names)))
"""
"""Asks until all have answered: name servers and nodes learn of a Service's pods some time after they are ready."""


def restricted(image, program, **environment):
    """A container that the restricted Pod Security level lets in."""
    return {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", program],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def web(image, replicas, first=None):
    """Pods that answer with their names, no two on one node, one of them on the first node, behind a Service."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [first]}]}
    prefer = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": here}]} if first else {}
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    pod = {
        "containers": [restricted(image, SERVER) | {"readinessProbe": {"tcpSocket": {"port": 8080}}}],
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
            "nodeAffinity": prefer,
        },
        "terminationGracePeriodSeconds": 0,
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    deployment = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    service = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": deployment},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service},
    ]


def run_pod(cluster, namespace, name, container, node):
    """Run a pod on a node to its end and give what it printed."""
    pod = {"containers": [container], "restartPolicy": "Never", "nodeName": node}
    apply(cluster, namespace, [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod}])
    here = f"--namespace={namespace}"
    cluster.kubectl(
        "wait", here, f"pod/{name}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=180s", timeout=190
    )
    return cluster.kubectl("logs", here, name).split()


def client(image, namespace, servers):
    """A container that names all servers behind the Service `web`."""
    url = f"http://web.{namespace}.svc.cluster.local/"
    return restricted(image, CLIENT, URL=url, NAMES=" ".join(servers))


def apply(cluster, namespace, objects):
    everything = {"apiVersion": "v1", "kind": "List", "items": objects}
    cluster.kubectl("apply", f"--namespace={namespace}", "--filename=-", text=json.dumps(everything))


def ready_web(cluster, namespace, lost=None):
    """Wait until both pods of `web` are ready, none of them on a lost node; give their nodes by the pods' names."""

    def ready():
        found = cluster.get("pods", f"--namespace={namespace}", "--selector=app=web")
        nodes = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in found if serves(pod)}
        return nodes if len(nodes) == 2 and lost not in nodes.values() else None

    servers = cluster_apps.eventually(ready, 180)
    assert servers
    return servers


def serves(pod):
    states = {condition["type"]: condition["status"] for condition in pod["status"].get("conditions", ())}
    return states.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def test_pods_on_other_nodes_are_reached_through_a_service_by_its_name(cluster, namespace, images):
    assert cluster.is_ready()
    apply(cluster, namespace, web(images[1], replicas=2))
    servers = ready_web(cluster, namespace)
    assert len(set(servers.values())) == 2
    (third, *_) = cluster_apps.workers(cluster) - set(servers.values())
    assert run_pod(cluster, namespace, "client", client(images[1], namespace, servers), third) == sorted(servers)


def test_what_an_aborted_run_has_left_goes_and_other_clusters_stay(cluster):
    if cluster.engine is None:
        need([Missing(what="a cluster of our own", why="another one is made beside it", install="unset KUBECONFIG")])
    engine, cache, aborted = cluster.engine, default_cache(), f"{cluster.name}-aborted"
    node, network = f"{aborted}-control-plane", engine.network_name(aborted)
    image = engine.run("inspect", "--format", "{{.Image}}", engine.nodes(cluster.name)[0]).strip()
    engine.run("network", "create", network)
    volume = engine.run("volume", "create", "--label", node).strip()
    mounted = ["--volume", f"{volume}:/there", "--network", network]
    engine.run("create", "--name", node, "--label", f"io.x-k8s.kind.cluster={aborted}", *mounted, image)
    assert (engine.nodes(aborted), engine.networks(aborted)) == ([node], [network])
    down(cache, aborted)
    assert cluster_leftovers.left_by(cache, aborted, set()) == []
    assert cluster.is_ready()


def test_pods_of_a_lost_node_are_replaced_and_the_node_comes_back(cluster, namespace, images):
    if cluster.engine is None:
        need([Missing(what="a cluster of our own", why="one of its nodes is killed", install="unset KUBECONFIG")])
    lost = cluster_apps.expendable_node(cluster)
    apply(cluster, namespace, web(images[1], replicas=2, first=lost))
    assert lost in ready_web(cluster, namespace).values()
    cluster.kill_node(lost)
    try:
        servers = ready_web(cluster, namespace, lost)
    finally:
        cluster.start_node(lost)
    assert run_pod(cluster, namespace, "back", client(images[1], namespace, servers), lost) == sorted(servers)
