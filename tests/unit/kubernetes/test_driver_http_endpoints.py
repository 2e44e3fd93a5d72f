"""The pages of a driver on Kubernetes, and how its Spark is set up."""

import json
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry

from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.run_record import StreamSummary, Summary
from streamapp_runtime.kubernetes.driver_http_endpoints import DriverHealth, serve_pages
from streamapp_runtime.kubernetes.driver_metrics import SummaryCollector
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_runtime.spark.kubernetes_settings import kubernetes_settings
from streamapp_runtime.spark.pod_memory import overhead
from streamapp_runtime.state.store_size import StoreSize
from support import apps

STREAM = StreamSummary(name="in", role="input", partitions=1, ended=0, read=7, total=None, watermark=1_500)
SUMMARY = Summary(
    streams=(STREAM,),
    written={"out": 3},
    not_used={"w": {"late": 2}},
    bad_rows=(),
    seconds=1.0,
    state_sizes={"w": StoreSize(entries=5, bytes=4_096)},
)


@pytest.fixture
def time():
    return [0.0]


@pytest.fixture
def pages(time):
    health = DriverHealth(lambda: time[0])
    registry = CollectorRegistry()
    registry.register(SummaryCollector("delays", "team", lambda: health.summary))
    server = serve_pages(health, registry, 0)
    yield health, f"http://127.0.0.1:{server.port}"
    server.close()


def status(url):
    try:
        with urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_driver_is_ready_when_it_says_so_and_alive_while_its_loop_turns(pages, time):
    health, url = pages
    assert status(f"{url}/ready")[0] == 503
    health.turn(None, ready=True)
    assert status(f"{url}/ready")[0] == 200
    time[0] = 59.0
    assert status(f"{url}/healthz")[0] == 200
    time[0] = 61.0
    assert status(f"{url}/healthz")[0] == 503


def test_status_and_metrics_tell_the_figures_of_the_app(pages):
    health, url = pages
    health.turn(SUMMARY, ready=True)
    assert json.loads(status(f"{url}/status")[1])["streams"][0]["read"] == 7
    text = status(f"{url}/metrics")[1]
    assert 'streamapp_rows_read_total{app="delays",namespace="team",stream="in"} 7.0' in text
    assert 'streamapp_watermark_seconds{app="delays",namespace="team",stream="in"} 1.5' in text
    assert 'streamapp_rows_not_used_total{app="delays",name="w",namespace="team",reason="late"} 2.0' in text
    assert 'streamapp_state_entries{app="delays",name="w",namespace="team"} 5.0' in text
    assert 'streamapp_state_bytes{app="delays",name="w",namespace="team"} 4096.0' in text
    assert status(f"{url}/nothing")[0] == 404


@pytest.mark.parametrize(
    "memory, mebibytes", [("1Gi", 544), ("2Gi", 1568), ("2G", 1427), ("512Mi", 384), ("1.5Gi", 1056)]
)
def test_what_is_not_heap_of_a_pod_s_memory_is_for_python(memory, mebibytes):
    assert overhead(memory) == mebibytes


def test_claims_are_made_by_spark_and_taken_over():
    document = apps.stateless("kafka")
    document["spec"]["image"] = "streamapp-runtime:dev"
    document["spec"]["processors"] = {
        "state": {"volumeClaim": {"size": "5Gi", "storageClassName": "fast"}},
        "memory": "2Gi",
    }
    app = parse_text(json.dumps(document)).app
    environment = DriverEnvironment(app="app", namespace="team", epoch=3, pod="app-driver-3", address="10.0.0.7")
    settings = kubernetes_settings(app, environment, 4, Path("/tmp/executor.json"), Path("/tmp/log4j2.properties"))
    claim = "spark.kubernetes.executor.volumes.persistentVolumeClaim.state"
    assert settings[f"{claim}.options.claimName"] == "OnDemand"
    assert settings[f"{claim}.options.storageClass"] == "fast"
    assert settings["spark.kubernetes.driver.reusePersistentVolumeClaim"] == "true"
    assert settings["spark.kubernetes.allocation.executor.timeout"] == "45s"
    assert settings["spark.executor.instances"] == "4"
    assert settings["spark.executor.memoryOverhead"] == "1568m"
    assert settings["spark.kubernetes.executor.podNamePrefix"] == "app-3"
