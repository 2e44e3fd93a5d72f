"""Pods that are no part of an app learn nothing from its driver, and stop nothing; its secret is shown nowhere."""

import base64
import json

import pytest

from streamapp_core.deployment.kubernetes_names import CHANNEL_PORT, SPARK_PORT, driver_host
from support import cluster_apps
from support.cluster_apps import eventually

APP = "guarded"
JOIN = (
    "org.apache.spark.executor.CoarseGrainedExecutorBackend --driver-url spark://CoarseGrainedScheduler@{host}:{port} "
    "--executor-id 77 --hostname 127.0.0.1 --bind-address 127.0.0.1 --cores 1 --app-id a --resourceProfileId 0"
)
REPORT = """
import http.client, ssl, sys
context = ssl._create_unverified_context()
connection = http.client.HTTPSConnection("{host}", {port}, timeout=10, context=context)
connection.request("POST", "/report", b"{{}}", {{"Authorization": "Bearer guess"}})
print("status", connection.getresponse().status)
"""
RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@pytest.fixture
def app(cluster, namespace, images, operator, kafka):
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=240)
    return app


def run_stranger(cluster, namespace, image, name, *command):
    """Run a pod without anything of the app to its end, and return whether it succeeded, and what it printed."""
    container = {"name": "main", "image": image, "command": command, "securityContext": RESTRICTED}
    spec = {
        "restartPolicy": "Never",
        "containers": [{**container, "imagePullPolicy": "IfNotPresent"}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "automountServiceAccountToken": False,
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    cluster.kubectl("apply", "--filename=-", text=json.dumps(pod))

    def ended():
        phase = cluster.get("pod", f"--namespace={namespace}", name)["status"].get("phase")
        return phase if phase in ("Succeeded", "Failed") else None

    assert eventually(ended, 240)
    return ended() == "Succeeded", cluster.kubectl("logs", f"--namespace={namespace}", name)


def test_a_pod_without_the_secret_reads_no_property_and_stops_no_executor(cluster, namespace, images, app):
    epoch = cluster_apps.status(cluster, namespace, APP)["driver"]["epoch"]
    host = driver_host(APP, epoch, namespace)
    executors = [pod["metadata"]["uid"] for pod in cluster_apps.pods(cluster, namespace, APP, "processor")]

    join = 'exec java -cp "$SPARK_HOME/jars/*" ' + JOIN.format(host=host, port=SPARK_PORT)
    succeeded, said = run_stranger(cluster, namespace, images[1], "joins", "/bin/sh", "-c", join)
    assert not succeeded
    assert "spark.app.name" not in said
    report = REPORT.format(host=host, port=CHANNEL_PORT)
    _, said = run_stranger(cluster, namespace, images[1], "reports", "python3", "-c", report)
    assert "status 401" in said

    app.feed(5_000)
    app.wait_until_all_came_out()
    assert executors == [pod["metadata"]["uid"] for pod in cluster_apps.pods(cluster, namespace, APP, "processor")]

    (secret,) = cluster.get("secret", f"--namespace={namespace}", f"--selector=streamapp.dev/app={APP}")
    (value,) = (base64.b64decode(item).decode() for item in secret["data"].values())
    shown = [cluster.kubectl("describe", "pods", f"--namespace={namespace}")]
    shown += [
        json.dumps(cluster.get(kind, f"--namespace={namespace}")) for kind in ("pods", "configmaps", "streamapps")
    ]
    shown.append(
        cluster.kubectl("logs", f"--namespace={namespace}", f"--selector=streamapp.dev/app={APP}", "--tail=-1")
    )
    forms = (value, base64.b64encode(value.encode()).decode(), base64.b64decode(value).decode())
    assert not any(form in text for text in shown for form in forms)

    driver = cluster_apps.pods(cluster, namespace, APP, "driver")[0]["metadata"]["name"]
    cluster_apps.kill(cluster, namespace, driver)
    selector = f"--selector=streamapp.dev/app={APP}"

    def renewed():
        found = cluster.get("secret", f"--namespace={namespace}", selector)
        return [item["metadata"]["name"] for item in found] not in ([], [secret["metadata"]["name"]]) and len(
            found
        ) == 1

    assert eventually(renewed, 180)
