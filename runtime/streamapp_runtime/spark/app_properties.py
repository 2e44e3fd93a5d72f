"""The properties of Spark that an app's spec asks for (docs/spark.md); those that StreamApp needs lie above them."""

from pathlib import Path

from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.spark_settings import EventLog, SparkSpec
from streamapp_runtime.errors import RuntimeFailure


def app_properties(spec: StreamAppSpec, folder: Path) -> dict[str, str]:
    """Return the properties of an app; a relative folder of its event log is in `folder`, and is made.

    Raises:
        RuntimeFailure: that folder can't be made.
    """
    spark = spec.spark or SparkSpec()
    properties = {**spark.conf, "spark.ui.enabled": "false"}
    if spark.ui is not None:
        # Another free port would be one that nobody knows; and pages without a login stop no jobs.
        properties |= {
            "spark.ui.enabled": "true",
            "spark.ui.port": str(spark.ui.port),
            "spark.port.maxRetries": "0",
            "spark.ui.killEnabled": "false",
        }
    if spark.packages:
        properties["spark.jars.packages"] = ",".join(spark.packages)
    if spark.event_log is not None:
        properties |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": _event_log_uri(spark.event_log, folder)}
    return properties


def _event_log_uri(log: EventLog, folder: Path) -> str:
    if log.path is None:
        return log.dir
    found = folder.absolute() / log.path
    try:
        found.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeFailure(f"spec.spark.eventLog.dir: {found} can't be made: {error.strerror}") from None
    return found.as_uri()
