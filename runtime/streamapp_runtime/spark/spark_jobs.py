"""Spark jobs of incarnations: what they are called, why they failed, and the executor each is pinned to."""

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.serializers import CPickleSerializer

from streamapp_runtime.processor.processor_report import Incarnation


def group(incarnation: Incarnation) -> str:
    """Name the group of an incarnation's job, by which it is cancelled."""
    return f"incarnation-{incarnation.number}"


def cause(error: Py4JError) -> str:
    """Pick the line that tells what happened: of a Python error its last one, else the first."""
    java = getattr(error, "java_exception", None)
    text = str(java.getMessage()) if java is not None else str(error)
    python = text.partition("Traceback (most recent call last):")[2].partition(" SQLSTATE")[0]
    return (python or text.partition("\n")[0]).strip().splitlines()[-1]


def pinned(spark: SparkContext, executor: str, host: str, value: bytes) -> "RDD[tuple[str, bytes]]":
    """Make an RDD of one partition with one element: the executor it should be computed on, and a value.

    Spark waits `spark.locality.wait` for that executor, and then takes another one: whoever computes it must look.
    """
    jvm, context = spark._gateway.jvm, spark._jsc.sc()  # noqa: SLF001 - PySpark has no locations
    serializer = CPickleSerializer()
    element = bytearray(serializer.dumps((executor, value)))
    located = jvm.scala.Tuple2(element, jvm.PythonUtils.toSeq([f"executor_{host}_{executor}"]))
    class_tag = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").apply(jvm.java.lang.Class.forName("[B"))
    rdd = context.makeRDD(jvm.PythonUtils.toSeq([located]), class_tag)
    return RDD(rdd.toJavaRDD(), spark, serializer)
