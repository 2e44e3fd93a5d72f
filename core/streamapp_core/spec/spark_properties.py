"""The properties of Spark that an app may set, and why it may not set the others.

They are a list: a property is passed on if it is known to change nothing but how Spark logs, shows and waits. All
others are refused, also those that Spark may have one day.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamapp_core.near_names import did_you_mean
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.spark_settings import SparkSpec

_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind:
    """The values that a property has: a pattern, and the words for them; times are between bounds in milliseconds."""

    pattern: str
    text: str
    bounds: tuple[int, int] | None = None

    def takes(self, value: str) -> bool:
        """Return whether a property of this kind can have a value."""
        if re.fullmatch(self.pattern, value, re.ASCII) is None:
            return False
        if self.bounds is None:
            return True
        number = value.rstrip("abcdefghijklmnopqrstuvwxyz")
        return self.bounds[0] <= int(number) * _MILLISECONDS[value[len(number) :]] <= self.bounds[1]


def _one_of(*values: str) -> ValueKind:
    return ValueKind(pattern="|".join(map(re.escape, values)), text=", ".join(values[:-1]) + f" or {values[-1]}")


def _time(lowest: str, low: int, highest: str, high: int) -> ValueKind:
    return ValueKind(
        pattern=r"[0-9]{1,9}(ms|s|m|min|h)", text=f"a time between {lowest} and {highest}", bounds=(low, high)
    )


_SWITCH = _one_of("true", "false")
_SIZE = ValueKind(pattern=r"[1-9][0-9]{0,8}(k|m|g)", text="a size, such as 100k or 10m")
_NUMBER = ValueKind(pattern=r"0|[1-9][0-9]{0,8}", text="a whole number")
_ANYTHING = ValueKind(pattern=r"[^\x00-\x1f\x7f]*", text="a text of one line")
_WAIT = _time("1s", 1_000, "10m", 600_000)

PROPERTIES: Mapping[str, ValueKind] = {
    "spark.eventLog.buffer.kb": _SIZE,
    "spark.eventLog.compress": _SWITCH,
    "spark.eventLog.compression.codec": _one_of("lz4", "lzf", "snappy", "zstd"),
    "spark.eventLog.logStageExecutorMetrics": _SWITCH,
    "spark.eventLog.rolling.enabled": _SWITCH,
    "spark.eventLog.rolling.maxFileSize": ValueKind(
        pattern=r"([1-9][0-9]|[1-9][0-9]{2,5})m|[1-9][0-9]{0,2}g", text="a size of at least 10m"
    ),
    "spark.executor.heartbeatInterval": _time("1s", 1_000, "15s", 15_000),
    "spark.executor.processTreeMetrics.enabled": _SWITCH,
    "spark.locality.wait": _WAIT,
    "spark.log.level": _one_of("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"),
    "spark.network.timeout": _time("40s", 40_000, "10m", 600_000),
    "spark.rpc.askTimeout": _WAIT,
    "spark.rpc.lookupTimeout": _WAIT,
    "spark.ui.liveUpdate.period": _time("0ms", 0, "10m", 600_000),
    "spark.ui.prometheus.enabled": _SWITCH,
    "spark.ui.retainedDeadExecutors": _NUMBER,
    "spark.ui.retainedJobs": _NUMBER,
    "spark.ui.retainedStages": _NUMBER,
    "spark.ui.retainedTasks": _NUMBER,
    "spark.ui.timeline.executors.maximum": _NUMBER,
    "spark.ui.timeline.jobs.maximum": _NUMBER,
    "spark.ui.timeline.stages.maximum": _NUMBER,
    "spark.ui.timeline.tasks.maximum": _NUMBER,
}
"""The properties that are passed on, with their values. Executors beat at least twice within the shortest timeout."""

STORES = ("spark.hadoop.dfs.", "spark.hadoop.fs.azure.", "spark.hadoop.fs.gs.", "spark.hadoop.fs.s3a.")
"""Beginnings of properties that are passed on with any value: the clients of stores that event logs may be in."""

_SECRET = re.compile(
    r"secret|passw|pwd|token|[.]sas[.]|credential(?!s?[._]provider)|(access|account|private)[._-]?key", re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)

_POD = "pods are made of `spec.driver.template` and `spec.processors.template`, which an administrator's rules judge"
_SECURITY = (
    "who may connect to the driver, its executors and their pages, and how that is encrypted, is not the app's to set"
)
_CODE = "code comes as `spec.spark.packages`, as `spec.pyFiles`, or in the image"
_CLASSES = "it loads classes into the JVMs, which only start and watch processors"
_COUNT, _MEMORY = "this is `spec.processors.count`", "this is `memory` of `spec.processors` and `spec.driver`"
_CORES = "this is `cores` of `spec.processors` and `spec.driver`"
_EVENT_LOG, _UI = "this is `spec.spark.eventLog.dir`", "this is `spec.spark.ui`"
_ENVIRONMENT = "the environment of Python is that of the image and of `env` in `spec.processors.template`"
_ADDRESSES = "addresses and ports of the driver are fixed, as its Service and its NetworkPolicy know them"
_ATTEMPTS = "the driver decides what is started again: a second attempt would be a second writer"
_NO_EFFECT = "rows never pass through Spark, so it would change nothing"

_REASONS: Mapping[str, str] = {
    "spark.master": "a cluster is named by `streamapp run --master`; on Kubernetes it is the app's own",
    "spark.app.name": "this is `metadata.name`",
    "spark.submit.": "an app is started by `streamapp run` or by the Kubernetes operator",
    "spark.executor.instances": _COUNT,
    "spark.cores.max": _COUNT,
    "spark.dynamicAllocation.": _COUNT,
    "spark.executor.cores": _CORES,
    "spark.driver.cores": _CORES,
    "spark.task.cpus": _CORES,
    "spark.task.resource.": _CORES,
    "spark.executor.resource.": _POD,
    "spark.driver.resource.": _POD,
    "spark.executor.memory": _MEMORY,
    "spark.executor.pyspark.memory": _MEMORY,
    "spark.driver.memory": _MEMORY,
    "spark.kubernetes.": _POD,
    "spark.authenticate": _SECURITY,
    "spark.network.crypto.": _SECURITY,
    "spark.network.sasl.": _SECURITY,
    "spark.io.encryption.": _SECURITY,
    "spark.ssl.": _SECURITY,
    "spark.acls.": _SECURITY,
    "spark.admin.": _SECURITY,
    "spark.modify.": _SECURITY,
    "spark.user.": _SECURITY,
    "spark.redaction.": _SECURITY,
    "spark.ui.acls.": _SECURITY,
    "spark.ui.view.": _SECURITY,
    "spark.ui.filters": _SECURITY,
    "spark.ui.allowFramingFrom": _SECURITY,
    "spark.ui.killEnabled": _SECURITY,
    "spark.ui.reverseProxy": _SECURITY,
    "spark.ui.enabled": _UI,
    "spark.ui.port": _UI,
    "spark.eventLog.enabled": _EVENT_LOG,
    "spark.eventLog.dir": _EVENT_LOG,
    "spark.jars": _CODE,
    "spark.files": _CODE,
    "spark.archives": _CODE,
    "spark.repl.": _CODE,
    "spark.driver.extra": _CODE,
    "spark.driver.defaultJavaOptions": _CODE,
    "spark.driver.userClassPathFirst": _CODE,
    "spark.executor.extra": _CODE,
    "spark.executor.defaultJavaOptions": _CODE,
    "spark.executor.userClassPathFirst": _CODE,
    "spark.plugins": _CLASSES,
    "spark.extraListeners": _CLASSES,
    "spark.metrics.": _CLASSES + "; the driver has `/metrics`",
    "spark.serializer": _CLASSES,
    "spark.kryo": _CLASSES,
    "spark.hadoop.": "only properties of stores for event logs are passed on: "
    + ", ".join(f"{one}*" for one in STORES),
    "spark.executorEnv.": _ENVIRONMENT,
    "spark.pyspark.": _ENVIRONMENT,
    "spark.python.": _ENVIRONMENT,
    "spark.driver.host": _ADDRESSES,
    "spark.driver.bindAddress": _ADDRESSES,
    "spark.driver.port": _ADDRESSES,
    "spark.driver.blockManager.": _ADDRESSES,
    "spark.blockManager.port": _ADDRESSES,
    "spark.port.": _ADDRESSES,
    "spark.speculation": _ATTEMPTS,
    "spark.task.": _ATTEMPTS,
    "spark.stage.": _ATTEMPTS,
    "spark.scheduler.": _ATTEMPTS,
    "spark.excludeOnFailure.": _ATTEMPTS,
    "spark.decommission.": _ATTEMPTS,
    "spark.sql.": _NO_EFFECT,
    "spark.streaming.": _NO_EFFECT,
    "spark.shuffle.": _NO_EFFECT,
    "spark.rdd.": _NO_EFFECT,
    "spark.default.": _NO_EFFECT,
    "spark.memory.": _NO_EFFECT,
    "spark.storage.": _NO_EFFECT,
    "spark.checkpoint.": _NO_EFFECT,
}
"""The reasons for properties that begin so; the first that fits counts."""


def find_refused_properties(spark: SparkSpec) -> Iterator[Problem]:
    """Find properties that an app may not set, and values that they can't have."""
    for name, value in spark.conf.items():
        kind = _find_kind(name)
        if kind is None:
            yield _refused(name, f"`{name}` is not passed on to Spark: {_reason(name)}")
        elif not kind.takes(value):
            yield _refused(name, f"`{name}` is {kind.text}, not {value[:100]!r}")


def _find_kind(name: str) -> ValueKind | None:
    if name in PROPERTIES:
        return PROPERTIES[name]
    store = _NAME.fullmatch(name) is not None and name.startswith(STORES) and _SECRET.search(name) is None
    return _ANYTHING if store else None


def _reason(name: str) -> str:
    if _SECRET.search(name) is not None and name.startswith(STORES):
        return (
            "many people read a spec; give secrets by the environment: `env` with `valueFrom.secretKeyRef` in "
            "`spec.driver.template`"
        )
    found = next((reason for beginning, reason in _REASONS.items() if name.startswith(beginning)), None)
    return found or f"it is not among the properties of docs/spark.md{did_you_mean(name, list(PROPERTIES))}"


def _refused(name: str, message: str) -> Problem:
    escaped = name.replace("~", "~0").replace("/", "~1")
    return Problem(
        path=f"spec.spark.conf.{name}",
        code=ProblemCode.SPARK_PROPERTY_REFUSED,
        message=message,
        repair=Repair(
            text=f"remove `spec.spark.conf.{name}`",
            edits=(Edit(op="remove", pointer=f"/spec/spark/conf/{escaped}"),),
        ),
    )
