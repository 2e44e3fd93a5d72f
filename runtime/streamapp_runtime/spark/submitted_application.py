"""The application that `spark-submit` has started this process for: its properties, which lie below ours."""

import os
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext

from streamapp_core.spec.spark_settings import SparkSpec
from streamapp_runtime.errors import RuntimeFailure

_GATEWAY_VARIABLE = "PYSPARK_GATEWAY_PORT"
"""Set by Spark for the Python process that it starts, which then uses the JVM that is there."""
_DECIDED_BEFORE = frozenset({"spark.app.name", "spark.driver.extraJavaOptions", "spark.jars.packages", "spark.master"})
"""Properties that `spark-submit` always sets itself, or that come too late for a JVM that runs."""


def read_submitted() -> Mapping[str, str]:
    """Return the properties that `spark-submit` has; none if it has not started this process."""
    if _GATEWAY_VARIABLE not in os.environ:
        return {}
    SparkContext._ensure_initialized()  # noqa: SLF001 - the JVM knows them
    return dict(SparkConf().getAll())


def check_submitted(
    submitted: Mapping[str, str], needed: Mapping[str, str], spark: SparkSpec | None, environment: Mapping[str, str]
) -> None:
    """Refuse what `spark-submit` has decided otherwise than StreamApp needs it, or than the spec says.

    Raises:
        RuntimeFailure: there is something; the message has all of it.
    """
    if not submitted:
        return
    wrong = [
        f"leave out {name}={value}, as StreamApp needs {needed[name]}"
        for name, value in sorted(submitted.items())
        if name not in _DECIDED_BEFORE and needed.get(name, value) != value
    ]
    if spark is not None and spark.packages:
        wrong.append(f"write spec.spark.packages as --packages {','.join(spark.packages)}")
    if spark is not None and spark.ui is not None and "SPARK_LOCAL_IP" not in environment:
        wrong.append("set SPARK_LOCAL_IP=127.0.0.1 for spec.spark.ui, which listens at all addresses without it")
    if wrong:
        raise RuntimeFailure(f"spark-submit has started Spark otherwise than the app needs it: {'; '.join(wrong)}")
