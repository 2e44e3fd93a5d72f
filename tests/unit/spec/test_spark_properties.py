"""The properties of Spark that an app may set: a list; all others are refused, with what to use instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.problems import ProblemCode
from streamapp_core.spec.parse import parse_document
from streamapp_core.spec.spark_properties import PROPERTIES, STORES, find_refused_properties
from streamapp_core.spec.spark_settings import SparkSpec
from support.plan_documents import document, repaired

GOOD = {
    "spark.eventLog.buffer.kb": "100k",
    "spark.eventLog.compression.codec": "zstd",
    "spark.eventLog.rolling.maxFileSize": "128m",
    "spark.executor.heartbeatInterval": "10s",
    "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.WebIdentityTokenCredentialsProvider",
    "spark.hadoop.fs.s3a.endpoint": "https://store:9000",
    "spark.locality.wait": "1s",
    "spark.log.level": "INFO",
    "spark.network.timeout": "2m",
    "spark.ui.liveUpdate.period": "0ms",
    "spark.ui.prometheus.enabled": "false",
    "spark.ui.retainedJobs": "0",
}
BAD_VALUES = [
    ("spark.eventLog.compress", "yes"),
    ("spark.eventLog.compression.codec", "com.evil.Codec"),
    ("spark.eventLog.rolling.maxFileSize", "1m"),
    ("spark.executor.heartbeatInterval", "10"),
    ("spark.executor.heartbeatInterval", "1m"),
    ("spark.network.timeout", "39s"),
    ("spark.network.timeout", "39s\n"),
    ("spark.network.timeout", "11min"),
    ("spark.network.timeout", "٤٠s"),
    ("spark.ui.retainedJobs", "-1"),
    ("spark.ui.retainedJobs", "07"),
    ("spark.hadoop.fs.s3a.endpoint", "a\nspark.authenticate=false"),
]
INSTEAD = {
    "spark.authenticate": "not the app's to set",
    "spark.authenticate.secret": "not the app's to set",
    "spark.network.crypto.enabled": "not the app's to set",
    "spark.ssl.enabled": "not the app's to set",
    "spark.ui.filters": "not the app's to set",
    "spark.ui.killEnabled": "not the app's to set",
    "spark.redaction.regex": "not the app's to set",
    "spark.kubernetes.namespace": "spec.driver.template",
    "spark.kubernetes.executor.podTemplateFile": "spec.driver.template",
    "spark.kubernetes.executor.volumes.hostPath.x.mount.path": "spec.driver.template",
    "spark.kubernetes.authenticate.submission.oauthToken": "spec.driver.template",
    "spark.driver.extraJavaOptions": "spec.pyFiles",
    "spark.executor.extraClassPath": "spec.pyFiles",
    "spark.jars": "spec.pyFiles",
    "spark.jars.packages": "spec.spark.packages",
    "spark.plugins": "loads classes",
    "spark.extraListeners": "loads classes",
    "spark.metrics.conf": "/metrics",
    "spark.hadoop.hadoop.security.group.mapping": "only properties of stores",
    "spark.hadoop.fs.s3a.secret.key": "secretKeyRef",
    "spark.hadoop.fs.s3a.access.key": "secretKeyRef",
    "spark.hadoop.fs.s3a.session.token": "secretKeyRef",
    "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net": "secretKeyRef",
    "spark.hadoop.fs.azure.sas.logs.a.blob.core.windows.net": "secretKeyRef",
    "spark.hadoop.fs.azure.account.oauth2.user.pwd": "secretKeyRef",
    "spark.executorEnv.LD_PRELOAD": "the environment",
    "spark.pyspark.python": "the environment",
    "spark.python.daemon.module": "the environment",
    "spark.master": "streamapp run --master",
    "spark.executor.instances": "spec.processors.count",
    "spark.executor.memoryOverhead": "`memory` of",
    "spark.eventLog.dir": "spec.spark.eventLog.dir",
    "spark.ui.port": "spec.spark.ui",
    "spark.driver.host": "are fixed",
    "spark.task.maxFailures": "second writer",
    "spark.sql.shuffle.partitions": "change nothing",
    "spark.ui.retainedJob": "did you mean `spark.ui.retainedJobs`?",
    "spark.network.timeout ": "did you mean `spark.network.timeout`?",
    "": "not among",
    "spark.hadoop.fs.s3a.a b": "only properties of stores",
    "spark.hadoop.fs.s3a.x\n": "only properties of stores",
}


def refused(**conf):
    return list(find_refused_properties(SparkSpec(conf=conf)))


def test_properties_of_the_list_are_passed_on():
    assert refused(**GOOD) == []
    assert not set(GOOD) - set(PROPERTIES) - {name for name in GOOD if name.startswith(STORES)}


@pytest.mark.parametrize("name, value", BAD_VALUES)
def test_a_value_that_a_property_can_t_have_is_refused(name, value):
    (problem,) = refused(**{name: value})
    assert f"`{name}` is " in problem.message


@pytest.mark.parametrize("name", INSTEAD)
def test_a_refused_property_says_what_to_use_instead(name):
    (problem,) = refused(**{name: "true"})
    assert problem.path == f"spec.spark.conf.{name}"
    assert INSTEAD[name] in problem.message


@given(
    st.text(max_size=40) | st.text("abc.sS_- \n", max_size=20).map(lambda text: f"spark.{text}"), st.text(max_size=9)
)
def test_nothing_is_passed_on_that_is_not_on_the_list(name, value):
    passed = not refused(**{name: value})
    assert not passed or name in PROPERTIES or (name.startswith(STORES) and value.isprintable())


def test_all_refused_properties_are_told_at_once_and_their_repairs_mend_them():
    app = document([{"name": "sent", "from": "in", "sendTo": "out"}])
    app["spec"]["spark"] = {"conf": {"spark.a/b~c": "1", "spark.master": "local", "spark.log.level": "INFO"}}
    problems = parse_document(app).problems
    assert {problem.code for problem in problems} == {ProblemCode.SPARK_PROPERTY_REFUSED}
    assert len(problems) == 2
    for problem in problems:
        app = repaired(app, problem.repair)
    assert app["spec"]["spark"]["conf"] == {"spark.log.level": "INFO"}
    assert parse_document(app).problems == ()


@pytest.mark.parametrize(
    "spark, told",
    [
        ({"packages": ["a:b"]}, "packages[0]"),
        ({"packages": ["a:b:latest.release"]}, "packages[0]"),
        ({"packages": ["a:b:1,c:d:2"]}, "packages[0]"),
        ({"packages": ["a:b:[1,2)"]}, "packages[0]"),
        ({"eventLog": {}}, "eventLog.dir"),
        ({"eventLog": {"dir": "http://store/logs"}}, "http: is no store"),
        ({"eventLog": {"dir": "file:logs"}}, "absolute path"),
        ({"eventLog": {"dir": "hdfs://me:word@store/logs"}}, "no login"),
        ({"eventLog": {"dir": "a\nb"}}, "printable"),
        ({"ui": {"port": 80}}, "ui.port"),
        ({"conf": {"spark.ui.retainedJobs": 5}}, "conf.spark.ui.retainedJobs"),
    ],
)
def test_what_has_another_form_is_refused(spark, told):
    app = document([{"name": "sent", "from": "in", "sendTo": "out"}])
    app["spec"]["spark"] = spark
    (problem,) = parse_document(app).problems
    assert told in str(problem)


@pytest.mark.parametrize(
    "written, path",
    [
        ("logs", "logs"),
        ("/logs/a b", "/logs/a b"),
        ("file:/logs", "/logs"),
        ("file:///logs", "/logs"),
        ("s3a://bucket/logs", None),
        ("abfss://container@account.dfs.core.windows.net/logs", None),
    ],
)
def test_an_event_log_is_in_a_folder_or_a_store(written, path):
    assert SparkSpec.model_validate({"eventLog": {"dir": written}}).event_log.path == path
