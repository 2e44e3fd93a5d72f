"""A driver on a real cluster that dies or is edited: how soon rows come again, and where the time goes.

`build/e2e/restart-times.txt` has the timelines; STREAMAPP_RESTARTS says how often each is measured.
"""

import itertools
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from support import cluster_apps
from support.cluster_apps import eventually
from support.restart_timeline import log_events, watched

APP = "numbers"
ROUNDS = int(os.environ.get("STREAMAPP_RESTARTS", "1"))
SECONDS = 120.0
"""Many times what a machine needs that has nothing else to do: this one may be busy."""
TIMES = Path(__file__).parents[2] / "build" / "e2e" / "restart-times.txt"
PROGRAM = b"streamapp_runtime.kubernetes"


@pytest.fixture
def app(cluster, namespace, images, operator, kafka):
    app = cluster_apps.Numbered(namespace, images[1], kafka, APP)
    del app.document["spec"]["restartPolicy"]
    cluster_apps.apply(cluster, app.document)
    cluster_apps.wait_for(cluster, namespace, APP, "Ready", seconds=180)
    return app


def driver(cluster, namespace):
    """Name the driver's pod; None if there is none that runs."""
    names = [pod["metadata"]["name"] for pod in cluster_apps.pods(cluster, namespace, APP, "driver")]
    return names[-1] if names else None


def kill(cluster, namespace, pod):
    """Kill the driver in a pod, which stays: on nodes of this machine it is one of its processes."""
    if cluster.engine is None:
        cluster_apps.kill(cluster, namespace, pod)
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if PROGRAM in (process / "cmdline").read_bytes():
                variables = (process / "environ").read_bytes().split(b"\0")
                if f"STREAMAPP_POD_NAME={pod}".encode() in variables:
                    os.kill(int(process.name), signal.SIGKILL)


def test_rows_come_again_soon_after_a_driver_dies_and_after_an_edit(cluster, namespace, app):
    waits = itertools.count(31)

    def edit(_):
        cluster_apps.edit(cluster, namespace, APP, spark={"conf": {"spark.locality.wait": f"{next(waits)}s"}})

    ended = threading.Event()

    def feed():
        while not ended.wait(0.05):
            app.feed(10)

    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        for _ in range(ROUNDS):
            measure(cluster, namespace, app, "a death", lambda pod: kill(cluster, namespace, pod))
            measure(cluster, namespace, app, "an edit", edit)
    finally:
        ended.set()
        feeding.join()
    app.wait_until_all_came_out()


def measure(cluster, namespace, app, what, act):
    """Write the timeline of a restart, from the act that ends the driver to the first rows of its successor."""
    former = driver(cluster, namespace)
    with watched(cluster, namespace, app.kafka.outside, f"{app.name}.out") as (pods, arrivals):
        assert eventually(lambda: arrivals.times, 60)
        began = time.time()
        act(former)
        assert eventually(lambda: driver(cluster, namespace) not in (None, former), 60)
        assert eventually(lambda: cluster_apps.condition(cluster, namespace, APP, "Ready").get("status") == "True", 120)
        assert eventually(lambda: arrivals.times[-1] > time.time() - 1, 60)
        stopped, again = arrivals.gap(began)
    events = [(at, f"pod {name}: {seen}") for (name, seen), at in pods.seen.items() if at > began]
    events += log_events(cluster, namespace, driver(cluster, namespace))
    events += [(stopped, "the last row"), (again, "the first row")]
    load = os.getloadavg()[0]
    lines = [
        f"== {what}: rows again after {again - began:.1f} s, without any for {again - stopped:.1f} s, load {load:.1f}",
        *(f"{at - began:6.2f} {said}" for at, said in sorted(events)),
    ]
    TIMES.parent.mkdir(parents=True, exist_ok=True)
    with TIMES.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))
    assert again - began < SECONDS, "\n".join(lines)
