"""RDDs that Spark prefers to compute on one executor; PySpark has no way to say so."""

from pyspark import RDD, SparkContext
from pyspark.serializers import CPickleSerializer


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
