"""Spark's own connections: executors with the secret work, and who has none learns nothing and stops nobody."""

import base64
import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from streamapp_runtime.spark.local_session import local_settings, start_spark
from streamapp_runtime.spark.rpc_security import rpc_security_settings
from streamapp_runtime.spark.spark_logging import write_log_settings

pytestmark = pytest.mark.spark

JARS = Path(pyspark.__file__).parent / "jars"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
SECRET = "of-this-run"


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """A Spark with an executor in a process of its own, as on a cluster."""
    folder = tmp_path_factory.mktemp("spark")
    secret = folder / "secret"
    secret.write_text(SECRET)
    settings = {
        **local_settings(write_log_settings(folder)),
        **rpc_security_settings(secret),
        "spark.master": "local-cluster[1,1,1024]",
        # Without Kubernetes, Spark wants the secret here, as it makes it of a file.
        "spark.authenticate.secret": encoded(SECRET),
        "spark.app.name": "rpc",
        "spark.ui.enabled": "false",
    }
    context = start_spark(settings)
    yield context
    context.stop()
    end_jvm()


def end_jvm():
    """Give the next context of this process a JVM of its own: this one keeps the settings it was started with."""
    gateway = pyspark.SparkContext._gateway
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=60)


def joining(context, properties, environment):
    """Ask the driver for its properties, and to become one of its executors, in a process of its own."""
    driver = f"spark://CoarseGrainedScheduler@127.0.0.1:{context.getConf().get('spark.driver.port')}"
    options = [f"-D{name}={value}" for name, value in properties.items()]
    place = ["--driver-url", driver, "--executor-id", "77", "--bind-address", "127.0.0.1", "--hostname", "127.0.0.1"]
    command = ["java", *options, "-cp", f"{JARS}/*", EXECUTOR, *place, "--cores", "1", "--app-id", "a"]
    return subprocess.Popen(
        [*command, "--resourceProfileId", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )


def with_secret(secret):
    return rpc_security_settings(Path("/of/the/driver")), {"_SPARK_AUTH_SECRET": encoded(secret)}


def encoded(secret):
    """Encode a secret as Spark does one that a driver has in a file."""
    return base64.b64encode(secret.encode()).decode()


def executors(context):
    return context._jsc.sc().getExecutorMemoryStatus().size() - 1


def work(context):
    return context.parallelize([b"x" * 3_000_000] * 4, 4).map(len).sum()


def test_executors_with_the_secret_work(context):
    assert work(context) == 12_000_000


UNENCRYPTED = {"spark.network.crypto.enabled": "false"}
STRANGERS = {
    "nothing": ({}, {}),
    "another secret": with_secret("of-another-run"),
    "the secret, without encryption": ({**with_secret(SECRET)[0], **UNENCRYPTED}, with_secret(SECRET)[1]),
}


@pytest.mark.parametrize("knows", STRANGERS)
def test_who_has_no_secret_or_does_not_encrypt_is_refused(context, knows):
    stranger = joining(context, *STRANGERS[knows])
    said, _ = stranger.communicate(timeout=300)
    assert stranger.returncode != 0
    assert "spark.app.name" not in said
    assert (executors(context), work(context)) == (1, 12_000_000)


def test_on_kubernetes_the_driver_reads_the_secret_from_its_file(context, tmp_path):
    file = tmp_path / "secret"
    file.write_text(SECRET)
    jvm = context._gateway.jvm
    conf = jvm.org.apache.spark.SparkConf(False).set("spark.master", "k8s://https://kubernetes.default.svc")
    for name, value in rpc_security_settings(file).items():
        conf.set(name, value)
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    entries = getattr(getattr(jvm.org.apache.spark.internal.config, "package$"), "MODULE$")
    manager = jvm.org.apache.spark.SecurityManager(conf, none, entries.AUTH_SECRET_FILE_DRIVER())
    manager.initializeAuth()
    assert bytes(jvm.java.util.Base64.getDecoder().decode(manager.getSecretKey())).decode() == SECRET
