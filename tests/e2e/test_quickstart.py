"""The quickstart page is executed as it is written, but for the making of a cluster and its images, which are there."""

import os
import re
from pathlib import Path

import pytest
from tools.cluster.namespaces import save_namespace
from tools.cluster.process import run

from support import cluster_apps, flights_on_kafka

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "quickstart.md"
NAMESPACE = "quickstart"
SECONDS = 600
"""What the page promises."""


def commands():
    """Give the page's `bash` blocks; the one that makes the cluster and the images is of `sh`."""
    return re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def in_one_shell(cluster, script):
    """Run commands up to the first that fails, and give what they print."""
    path = f"{cluster.programs}:{os.environ['PATH']}"
    environment = {**cluster.environment, "PATH": path}
    return run(["bash", "-euxo", "pipefail", "-c", script], env=environment, cwd=ROOT, timeout=SECONDS)


@pytest.fixture
def fresh(cluster, images):
    """The page's namespace is not there; afterwards the operator has the settings again that other tests want."""
    remove = ["delete", "namespace", NAMESPACE, "--ignore-not-found"]
    cluster.kubectl(*remove, timeout=300)
    yield
    save_namespace(cluster, NAMESPACE, ROOT / "build" / "e2e" / NAMESPACE)
    cluster.kubectl(*remove, timeout=300)
    cluster_apps.install_operator(cluster, images[0])


@pytest.mark.timeout(2 * SECONDS)
def test_the_quickstart_works_as_written(cluster, fresh):
    *steps, removal = commands()
    printed = in_one_shell(cluster, "\n".join(steps))
    assert "Completed=True" in printed
    node = cluster.get("pod", f"--namespace={NAMESPACE}", "kafka-0")["status"]["hostIP"]
    flights_on_kafka.check(f"{node}:30092")
    in_one_shell(cluster, removal)
