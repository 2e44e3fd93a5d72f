"""The secret of a run: it ends with the driver's pod, processors have it as a file, and nothing else shows it."""

import base64
import json
from pathlib import Path

import pytest

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.spec.parse import parse_document
from streamapp_operator.decide.manifests.executor_template import build_executor_template
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.spark.completed_template import complete_template
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_runtime.spark.rpc_security import rpc_security_settings
from streamapp_runtime.spark.run_secret import RunSecret, create_run_secret
from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError
from support import numbered
from support.kubernetes_api import MemoryCluster

ENVIRONMENT = DriverEnvironment(app="shop", namespace="demo", epoch=3, pod="shop-driver-3", address="10.0.0.1")
POD = {"metadata": {"name": "shop-driver-3", "uid": "uid-3"}}
VALUE = "never-shown"
SECRET = RunSecret(name="s", value=VALUE)


def app(**template):
    document = numbered.app({"log": {"path": "/var/lib/log"}}, "shop")
    document["spec"] |= {"image": "app:1", "processors": {"count": 2, "template": template}}
    return parse_document(document).app


def template(**users):
    return build_executor_template("shop", app(**users).spec, 3, None)


def create(api):
    return create_run_secret(api, ENVIRONMENT, POD, suffix="abc", value=VALUE)


def test_the_secret_belongs_to_the_drivers_pod():
    cluster = MemoryCluster()
    secret = create(cluster)
    stored = cluster.get(Kind.SECRET, "demo", secret.name)
    assert secret.name == "shop-driver-3-abc"
    (owner,) = stored["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Pod", "shop-driver-3", "uid-3")
    assert stored["immutable"]
    assert [base64.b64decode(item).decode() for item in stored["stringData"].values()] == [VALUE]
    assert VALUE not in repr(secret)


class Refusing:
    def create(self, kind, body):
        raise RequestRefusedError("secrets is forbidden")


def test_a_driver_without_the_right_says_what_to_change():
    with pytest.raises(RuntimeFailure, match=r"secrets is forbidden.*upgrade the chart"):
        create(Refusing())


NAME = "_SPARK_AUTH_SECRET"
REFERENCE = {"name": NAME, "valueFrom": {"secretKeyRef": {"name": "s", "key": "spark"}}}
SIDECAR = {"name": "logs", "image": "logs:1", "env": [{"name": "A", "value": "b"}]}
FORGED = {"name": names.PROCESSOR_CONTAINER, "env": [{"name": NAME, "value": "known"}, {"name": "A", "value": "b"}]}


@pytest.mark.parametrize("users", [{}, {"spec": {"containers": [SIDECAR]}}, {"spec": {"containers": [FORGED]}}])
def test_the_processors_container_refers_to_the_secret_and_no_other(users):
    pod = complete_template(template(**users), POD, SECRET.reference)
    found = {container["name"]: container.get("env", []) for container in pod["spec"]["containers"]}
    assert [variable for variable in found.pop(names.PROCESSOR_CONTAINER) if variable["name"] == NAME] == [REFERENCE]
    assert not any(variable["name"] == NAME for variables in found.values() for variable in variables)
    assert VALUE not in json.dumps(pod)


def test_the_driver_s_pod_owns_its_executors():
    driver = {"apiVersion": "v1", "kind": "Pod", "name": "shop-driver-3", "uid": "uid-3", "controller": True}
    pod = complete_template(template(metadata={"labels": {"a": "b"}}), POD, SECRET.reference)
    assert pod["metadata"]["ownerReferences"] == [driver]
    assert pod["metadata"]["labels"].items() > {"a": "b"}.items()
    assert complete_template(template(), None, SECRET.reference)["metadata"]["ownerReferences"] == []


def test_other_variables_of_the_users_template_stay():
    pod = complete_template(template(spec={"containers": [FORGED]}), POD, SECRET.reference)
    assert {"name": "A", "value": "b"} in pod["spec"]["containers"][0]["env"]


def test_sparks_connections_are_authenticated_and_encrypted():
    settings = rpc_security_settings(Path("/secret"))
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    assert settings["spark.network.crypto.cipher"] == "AES/GCM/NoPadding"
    assert settings["spark.network.crypto.saslFallback"] == "false"
    assert settings["spark.authenticate.secret.driver.file"] == "/secret"
    assert "spark.authenticate.secret" not in settings
