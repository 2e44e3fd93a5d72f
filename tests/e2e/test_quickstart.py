"""The quickstart page is executed as it is written, but for the making of a cluster and its images, which are there."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tools.cluster.namespaces import save_namespace

from support import cluster_apps, flights_on_kafka

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "quickstart.md"
NAMESPACE = "quickstart"
SECONDS = 600
"""What the page promises."""


def commands():
    """Give the page's `bash` blocks; the block that makes the cluster and the images is of `sh`."""
    return re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def clean(cluster, images):
    """A cluster with images and without the page's namespace; the operator is again what other tests want afterwards."""
    remove = ["delete", "namespace", NAMESPACE, "--ignore-not-found"]
    cluster.kubectl(*remove)
    yield
    save_namespace(cluster, NAMESPACE, ROOT / "build" / "e2e" / NAMESPACE)
    cluster.kubectl(*remove)
    cluster_apps.install_operator(cluster, images[0])


def run(cluster, script):
    """Run commands in one shell, which ends with the first that fails, and give what they print."""
    environment = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig),
        "PATH": f"{cluster.programs}:{os.environ['PATH']}",
    }
    shell = ["bash", "-euxo", "pipefail", "-c", script]
    done = subprocess.run(
        shell, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.timeout(2 * SECONDS)
def test_the_quickstart_works_as_written(cluster, clean):
    *steps, removal = commands()
    printed = run(cluster, "\n".join(steps))
    assert "Completed=True" in printed
    node = cluster.get("pod", f"--namespace={NAMESPACE}", "kafka-0")["status"]["hostIP"]
    flights_on_kafka.check(f"{node}:30092")
    run(cluster, removal)
