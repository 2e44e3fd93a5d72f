"""Many apps at once on a real API server: how long they take, and that nothing is written once they are at rest."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from kubernetes import client

from support.kubelet import Kubelet
from support.operator_process import USER, OperatorProcess
from support.waiting import eventually

APPS = int(os.environ.get("STREAMAPP_OPERATOR_APPS", "200"))
IDLE_SECONDS = float(os.environ.get("STREAMAPP_OPERATOR_IDLE_SECONDS", "20"))


@pytest.fixture
def operator(operator_kubeconfig, namespace, tmp_path):
    with OperatorProcess(operator_kubeconfig, tmp_path / "operator.log", namespaces=namespace) as operator:
        yield operator


def test_many_apps_at_once_get_their_drivers_and_then_nothing_is_written(
    api, api_client, namespace, operator, shop, record_property
):
    apps = client.CustomObjectsApi(api_client)
    with Kubelet(api_client), ThreadPoolExecutor(4) as users:
        began = time.monotonic()
        list(users.map(lambda n: shop.apply(namespace, f"app-{n}"), range(APPS)))
        core = client.CoreV1Api(api_client)
        made = eventually(lambda: driver_pods(core, namespace) if drivers(core, namespace) == APPS else None, 120)
        assert made, operator.output()[-4000:]
        took = time.monotonic() - began
        listed = apps.list_namespaced_custom_object("streamapp.dev", "v1alpha1", namespace, "streamapps")["items"]
        waits = sorted(wait(requests(api, namespace), item["metadata"]["name"]) for item in listed)
        p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
        record_property("p50", p50)
        record_property("p99", p99)
        print(f"{APPS} apps in {took:.1f} s: apply to driver pod p50 {p50:.2f} s, p99 {p99:.2f} s")  # noqa: T201
        assert eventually(lambda: quiet(api, 3.0), 60)
        before = len(written(api))
        time.sleep(IDLE_SECONDS)
        assert written(api)[before:] == []


def driver_pods(core, namespace):
    found = core.list_namespaced_pod(namespace, label_selector="streamapp.dev/role=driver")
    return [pod.metadata.name for pod in found.items]


def drivers(core, namespace):
    return len(driver_pods(core, namespace))


def requests(api, namespace):
    return [r for r in api.requests() if r.namespace == namespace and r.verb == "create" and r.code == 201]


def wait(made, app):
    """Tell how long it took from an app to its driver's pod, by the API server's own account."""
    times = {(r.resource, r.name): r.time for r in made}
    return (times["pods", f"{app}-driver-1"] - times["streamapps", app]).total_seconds()


def written(api):
    return [request for request in api.requests() if request.user == USER and request.writes]


def quiet(api, seconds):
    last = max((request.time for request in written(api)), default=None)
    return last is not None and (datetime.now(last.tzinfo) - last).total_seconds() > seconds
