"""The binding of a processor to its executor: a preferred location for Spark, and a check by the worker.

A location is a preference of Spark's scheduler: it waits `spark.locality.wait` for the executor, and then takes another
one. A worker that finds itself on another executor ends before it has touched anything.
"""

import os
from collections.abc import Iterable, Iterator

import msgspec
from pyspark import RDD, SparkContext
from pyspark.serializers import CPickleSerializer

from streamapp_runtime.hosts.processor_launch import ProcessorOutcome, decode_launch

_EXECUTOR_VARIABLE = "SPARK_EXECUTOR_ID"


def run_on_executor(spark: SparkContext, executor: str, host: str, launch: bytes) -> bytes:
    """Run a processor on one executor to its end, and return its outcome; both are JSON."""
    (outcome,) = _located(spark, executor, host, launch).mapPartitions(_run_launched).collect()
    return bytes(outcome)


def _located(spark: SparkContext, executor: str, host: str, launch: bytes) -> "RDD[tuple[str, bytes]]":
    """Make an RDD of one partition with one element: the executor it should be computed on, and the launch."""
    jvm, context = spark._gateway.jvm, spark._jsc.sc()  # noqa: SLF001 - PySpark has no locations
    serializer = CPickleSerializer()
    element = bytearray(serializer.dumps((executor, launch)))
    located = jvm.scala.Tuple2(element, jvm.PythonUtils.toSeq([f"executor_{host}_{executor}"]))
    class_tag = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").apply(jvm.java.lang.Class.forName("[B"))
    rdd = context.makeRDD(jvm.PythonUtils.toSeq([located]), class_tag)
    return RDD(rdd.toJavaRDD(), spark, serializer)


def _run_launched(launches: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    """Run a processor; called in the Python worker."""
    from streamapp_runtime.hosts.launched_processor import run_launched  # a driver starts without it

    for executor, launch in launches:
        here = os.environ.get(_EXECUTOR_VARIABLE)
        if here == executor:
            outcome = run_launched(decode_launch(launch))
        else:
            outcome = ProcessorOutcome(lost=f"it was scheduled on executor {here or 'unknown'} instead of {executor}")
        yield msgspec.json.encode(outcome)
