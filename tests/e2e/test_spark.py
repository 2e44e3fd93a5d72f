"""The runtime image runs Spark on Kubernetes: a driver in a pod of its own and executors on nodes of their own.

All pods are restricted ones with read-only file systems, as those of StreamApps are.
"""

import json

JOB = """
import json, os
import pyarrow as pa
from pyspark import SparkConf, SparkContext

settings = {
    "spark.master": "k8s://https://kubernetes.default.svc",
    "spark.app.name": "job",
    "spark.driver.host": os.environ["POD_ADDRESS"],
    "spark.driver.port": "7078",
    "spark.driver.blockManager.port": "7079",
    "spark.executor.cores": "1",
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.kubernetes.allocation.batch.delay": "200ms",
    "spark.kubernetes.container.image": os.environ["IMAGE"],
    "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
    "spark.kubernetes.driver.pod.name": os.environ["HOSTNAME"],
    "spark.kubernetes.executor.podTemplateFile": "/app/executor.json",
    "spark.kubernetes.executor.request.cores": "100m",
    "spark.kubernetes.namespace": os.environ["NAMESPACE"],
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
settings |= {f"spark.{role}.extraJavaOptions": JAVA for role in ("driver", "executor")}

def work(numbers):
    total = pa.array(numbers).sum().as_py()
    yield os.environ["NODE"], os.getuid(), total

with SparkContext(conf=SparkConf().setAll(list(settings.items()))) as spark:
    spark.setLogLevel("ERROR")
    print(json.dumps(spark.parallelize(range(1000), 2).mapPartitions(work).collect()))
"""
RIGHTS = [
    {
        "apiGroups": [""],
        "resources": ["pods", "services", "configmaps", "persistentvolumeclaims"],
        "verbs": ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
    }
]
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
POD_RESTRICTED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def field(name, path):
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def executor():
    """Give the template of executors: no two on one node."""
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"spark-role": "executor"}}}
    container = {
        "name": "executor",
        "env": [field("NODE", "spec.nodeName")],
        "securityContext": RESTRICTED,
        "volumeMounts": [{"name": "temporary", "mountPath": "/tmp"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "containers": [container],
            "securityContext": POD_RESTRICTED,
            "automountServiceAccountToken": False,
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
            "volumes": [{"name": "temporary", "emptyDir": {}}],
        },
    }


def driver(image):
    """Give the driver's pod and what it needs to ask for executors."""
    container = {
        "name": "driver",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["python", "/app/job.py"],
        "env": [
            field("POD_ADDRESS", "status.podIP"),
            field("NAMESPACE", "metadata.namespace"),
            {"name": "IMAGE", "value": image},
        ],
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}},
        "securityContext": RESTRICTED,
        "volumeMounts": [{"name": "temporary", "mountPath": "/tmp"}, {"name": "job", "mountPath": "/app"}],
    }
    pod = {
        "containers": [container],
        "restartPolicy": "Never",
        "securityContext": POD_RESTRICTED,
        "serviceAccountName": "driver",
        "volumes": [{"name": "temporary", "emptyDir": {}}, {"name": "job", "configMap": {"name": "job"}}],
    }
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "driver"}
    subject = {"kind": "ServiceAccount", "name": "driver"}
    rbac, named = "rbac.authorization.k8s.io/v1", {"metadata": {"name": "driver"}}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", **named},
        {"apiVersion": rbac, "kind": "Role", **named, "rules": RIGHTS},
        {"apiVersion": rbac, "kind": "RoleBinding", **named, "roleRef": role, "subjects": [subject]},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "job"},
            "data": {"job.py": JOB, "executor.json": json.dumps(executor())},
        },
        {"apiVersion": "v1", "kind": "Pod", **named, "spec": pod},
    ]


def test_a_driver_s_executors_share_the_work_on_two_nodes(cluster, namespace, images):
    here = f"--namespace={namespace}"
    documents = {"apiVersion": "v1", "kind": "List", "items": driver(images[1])}
    cluster.kubectl("apply", here, "--filename=-", text=json.dumps(documents))
    cluster.kubectl(
        "wait", here, "pod/driver", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=300s", timeout=310
    )

    results = json.loads(cluster.kubectl("logs", here, "driver").splitlines()[-1])
    nodes, users, totals = zip(*results, strict=True)
    assert len(set(nodes)) == 2
    assert set(users) == {10001}
    assert sum(totals) == sum(range(1000))
    gone = ("--selector=spark-role=executor", "--for=delete", "--timeout=300s")
    cluster.kubectl("wait", here, "pod", *gone, timeout=310)
