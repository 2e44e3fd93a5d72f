"""Many apps at once on a real API server: how long they take, that nothing is written once they are at rest, and edits.

For figures, a quiet machine, STREAMAPP_OPERATOR_APPS=1000, STREAMAPP_OPERATOR_IDLE_SECONDS=300; `pytest -s` tells them.
"""

import json
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from kubernetes import client

from support.kubelet import Kubelet
from support.operator_process import USER, OperatorProcess
from support.waiting import eventually

APPS = int(os.environ.get("STREAMAPP_OPERATOR_APPS", "200"))
IDLE_SECONDS = float(os.environ.get("STREAMAPP_OPERATOR_IDLE_SECONDS", "20"))
DEADLINE = 120 + APPS


@pytest.fixture
def operator(operator_kubeconfig, namespace, tmp_path):
    with OperatorProcess(operator_kubeconfig, tmp_path / "operator.log", namespaces=namespace) as operator:
        yield operator


@pytest.mark.timeout(3 * DEADLINE + IDLE_SECONDS)
def test_many_apps_at_once_get_their_drivers_and_then_nothing_is_written(
    api, api_client, namespace, operator, shop, record_property
):
    with Kubelet(api_client, namespace), ThreadPoolExecutor(4) as users:
        began = time.monotonic()
        list(users.map(lambda n: shop.apply(namespace, f"app-{n}"), range(APPS)))
        core = client.CoreV1Api(api_client)
        assert eventually(lambda: drivers(core, namespace) == APPS, DEADLINE, pause=1.0), operator.output()[-4000:]
        took = time.monotonic() - began
        assert eventually(lambda: quiet(api, IDLE_SECONDS), DEADLINE + IDLE_SECONDS, pause=2.0)
        waits = sorted(waited(api, namespace))
        p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
        asked = Counter(f"{r.verb} {r.resource}" for r in api.requests() if r.user == USER and r.namespace == namespace)
        cpu, memory = (operator.metric(f"process_{what}") for what in ("cpu_seconds_total", "resident_memory_bytes"))
        found = {"p50": p50, "p99": p99, "CPU": cpu, "MB": memory // 1_000_000}
        for name, value in found.items():
            record_property(name, value)
        print(f"{APPS} apps in {took:.1f} s, from apply to driver pod:", json.dumps(found))  # noqa: T201
        print("requests per app:", {what: round(count / APPS, 2) for what, count in asked.most_common()})  # noqa: T201
        print(f"an edit is judged in {judge_edit(shop, namespace, 'app-0'):.2f} s")  # noqa: T201
        operator.kill()
        restarted = time.monotonic()
        operator.start()
        judge_edit(shop, namespace, "app-1")
        print(f"the first edit after a restart is judged in {time.monotonic() - restarted:.1f} s")  # noqa: T201
        assert drivers(core, namespace) == APPS


def judge_edit(shop, namespace, name):
    """Edit an app, and return the seconds until the edit is accepted."""
    began = time.monotonic()
    generation = shop.edit(namespace, name, processors={"count": 3})["metadata"]["generation"]
    accepted = {"type": "Accepted", "status": "True", "observedGeneration": generation}
    assert eventually(
        lambda: any(accepted.items() <= c.items() for c in shop.get(namespace, name)["status"]["conditions"]), DEADLINE
    )
    return time.monotonic() - began


def drivers(core, namespace):
    """Count the drivers' pods; their JSON is not made into objects, which would take the operator's time."""
    selector = "streamapp.dev/role=driver"
    answer = core.list_namespaced_pod(namespace, label_selector=selector, _preload_content=False)
    return len(json.loads(answer.data)["items"])


def waited(api, namespace):
    """Return for each app the time until its driver's pod, by the API server's own account."""
    made = [r for r in api.requests() if r.namespace == namespace and r.verb == "create" and r.code == 201]
    times = {(r.resource, r.name): r.time for r in made}
    apps = [name for resource, name in times if resource == "streamapps"]
    assert len(apps) == APPS
    return [(times["pods", f"{app}-driver-1"] - times["streamapps", app]).total_seconds() for app in apps]


def written(api):
    return [request for request in api.requests() if request.user == USER and request.writes]


def quiet(api, seconds):
    last = max((request.time for request in written(api)), default=None)
    return last is not None and (datetime.now(last.tzinfo) - last).total_seconds() > seconds
