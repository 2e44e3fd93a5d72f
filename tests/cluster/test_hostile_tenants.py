"""Tenants who write what nobody should: the operator goes on with the apps of all others, and tells them why."""

import base64
import gzip
import json

import pytest
from kubernetes import client

from streamapp_core.deployment.app_record import RECORD
from streamapp_core.deployment.kubernetes_names import APP_LABEL, KEY_ANNOTATION
from streamapp_core.job_model.job_model_shards import POINTER
from support.operator_process import OperatorProcess
from support.shop_resources import SPEC
from support.waiting import eventually

NAMESPACES = ("honest", "hostile")
GIGABYTE = 1_000_000_000


@pytest.fixture(scope="module", autouse=True)
def namespaces(api_client):
    for name in NAMESPACES:
        client.CoreV1Api(api_client).create_namespace({"metadata": {"name": name}})


@pytest.fixture(scope="module", autouse=True)
def operator(operator_kubeconfig, namespaces, tmp_path_factory):
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    with OperatorProcess(operator_kubeconfig, log, namespaces=",".join(NAMESPACES)) as operator:
        yield operator


@pytest.fixture
def honest_app_starts(shop, operator, request):
    """A check that an app of another namespace, made now, gets its driver."""

    def check():
        name = f"after-{abs(hash(request.node.name)) % 10**6}"
        shop.apply("honest", name)
        assert eventually(lambda: shop.condition("honest", "Accepted", name) == ("True", "Accepted"))
        assert not operator.ended()
        assert operator.healthy()

    return check


def write_document(core, app, document, *, data=None, binary=None):
    metadata = {
        "name": f"{app}.{document}",
        "labels": {APP_LABEL: app},
        "annotations": {KEY_ANNOTATION: document},
    }
    core.create_namespaced_config_map("hostile", {"metadata": metadata, "data": data, "binaryData": binary})


@pytest.mark.parametrize("document", [RECORD, POINTER, "locality", "progress"])
def test_documents_that_unpack_to_a_gigabyte_are_not_read(shop, core, operator, honest_app_starts, document):
    name = f"bomb-{document}"
    bomb = base64.b64encode(gzip.compress(bytes(GIGABYTE // 2), 9)).decode()
    write_document(core, name, document, binary={"value.gz": bomb})
    shop.apply("hostile", name)
    assert eventually(lambda: shop.condition("hostile", "Planned", name) is not None)
    honest_app_starts()
    assert operator.metric("process_resident_memory_bytes") < GIGABYTE // 2


@pytest.mark.parametrize("depth", [100, 1_000, 9_900])
def test_templates_nested_as_deeply_as_the_api_server_takes_them_are_refused(shop, kubectl, honest_app_starts, depth):
    """As text: Python's own writer would end before the API server's reader does."""
    template = '{"a":' * depth + "1" + "}" * depth
    spec = json.dumps({**SPEC, "driver": {"template": {"spec": "deep"}}}).replace('"deep"', template)
    metadata = f'"metadata": {{"name": "deep-{depth}"}}'
    app = f'{{"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", {metadata}, "spec": {spec}}}'
    kubectl("create", "--raw", "/apis/streamapp.dev/v1alpha1/namespaces/hostile/streamapps", "-f", "-", text=app)
    honest_app_starts()

    def refused():
        path = f"/apis/streamapp.dev/v1alpha1/namespaces/hostile/streamapps/deep-{depth}"
        return "spec.driver.template.spec is nested deeper than 64 levels" in kubectl("get", "--raw", path)

    assert eventually(refused)
