"""Tenants who write what nobody should: the operator goes on with the apps of all others, and tells them why."""

import base64
import gzip
import json

import pytest
from kubernetes import client

from streamapp_core.deployment.app_record import RECORD
from streamapp_core.deployment.kubernetes_names import APP_LABEL, KEY_ANNOTATION
from streamapp_core.job_model.job_model_shards import POINTER
from support.hostile_brokers import BEHAVIOURS, HostileBroker
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


@pytest.fixture
def apply_with_brokers(shop):
    """A function that applies an app of the hostile namespace whose streams are in a Kafka of these settings."""

    def apply(name, servers, **kafka):
        systems = {"log": {"kafka": {"bootstrapServers": servers, **kafka}}}
        streams = {stream: {**spec, "partitions": None} for stream, spec in SPEC["streams"].items()}
        shop.apply("hostile", name, systems=systems, streams=streams)

    return apply


def message_of(shop, name, kind="Accepted"):
    conditions = shop.get("hostile", name).get("status", {}).get("conditions", [])
    return next((condition["message"] for condition in conditions if condition["type"] == kind), "")


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_brokers_that_are_none_are_told_and_delay_no_other_tenant(
    shop, operator, apply_with_brokers, honest_app_starts, behaviour
):
    with HostileBroker(behaviour) as broker:
        for number in range(10):
            config = {"client.id": f"c{number}", "receive.message.max.bytes": str(2**31 - 1)}
            apply_with_brokers(f"{behaviour}-{number}", broker.address, config=config)
        honest_app_starts()
        first = f"{behaviour}-0"
        assert eventually(lambda: shop.condition("hostile", "Accepted", first) == ("Unknown", "SystemUnavailable"))
        assert f"Kafka log ({broker.address})" in message_of(shop, first)
        assert operator.metric("process_resident_memory_bytes") < GIGABYTE // 2
        for number in range(10):
            shop.delete("hostile", f"{behaviour}-{number}")


def test_a_setting_that_names_a_file_of_the_operator_is_refused_with_what_to_do(
    shop, apply_with_brokers, honest_app_starts
):
    config = {"security.protocol": "ssl", "ssl.ca.location": "/proc/self/fd/1"}
    apply_with_brokers("file", "127.0.0.1:1", config=config)
    honest_app_starts()
    assert eventually(lambda: shop.condition("hostile", "Accepted", "file") == ("False", "NotSupported"))
    assert "spec.systems.log.kafka.config.ssl.ca.location" in message_of(shop, "file")
    assert "Write the text as `ssl.ca.pem`" in message_of(shop, "file")


def test_a_login_that_is_no_text_is_told(shop, core, apply_with_brokers, honest_app_starts):
    data = {key: base64.b64encode(value).decode() for key, value in {"username": b"a", "password": b"\xff"}.items()}
    core.create_namespaced_secret("hostile", {"metadata": {"name": "binary"}, "data": data})
    apply_with_brokers("binary", "127.0.0.1:1", auth={"secretName": "binary", "mechanism": "PLAIN"})
    honest_app_starts()
    assert eventually(lambda: "password is no text, but binary" in message_of(shop, "binary"))
    assert shop.condition("hostile", "Accepted", "binary") == ("Unknown", "SystemUnavailable")
