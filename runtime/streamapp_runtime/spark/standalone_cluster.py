"""A standalone cluster of Spark's own as the place of processors (docs/spark.md): its address, and its executors."""

import re
import socket
import time

from py4j.protocol import Py4JError
from pyspark import SparkContext

from streamapp_runtime.errors import RuntimeFailure

_MASTER = re.compile(r"spark://([^\s:,/]+:[0-9]{1,5}(?:,[^\s:,/]+:[0-9]{1,5})*)")
_ANSWER_SECONDS = 5.0
_EXECUTORS_SECONDS = 60.0
_LOOK_SECONDS = 0.1


def check_master(master: str) -> str:
    """Return the URL of a standalone cluster's master.

    Raises:
        RuntimeFailure: it is none; the message says what is instead.
    """
    if _MASTER.fullmatch(master) is not None:
        return master
    if master.startswith("local"):
        raise RuntimeFailure(
            f"--master {master}: leave it out; processors are then processes of this machine, with a core each"
        )
    raise RuntimeFailure(
        f"--master {master}: apps run on standalone clusters (spark://HOST:PORT), on this machine (without "
        "--master), and on Kubernetes by StreamApp's operator (kubectl apply)"
    )


def find_own_address(master: str) -> str:
    """Return the address of this machine on the way to a master.

    Raises:
        RuntimeFailure: no master answers.
    """
    failures = []
    for host, port in (place.rsplit(":", 1) for place in master.removeprefix("spark://").split(",")):
        try:
            with socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS) as connection:
                return str(connection.getsockname()[0])
        except (OSError, OverflowError) as error:
            failures.append(f"{host}:{port}: {error}")
    raise RuntimeFailure(f"no master of Spark answers at {master} ({'; '.join(failures)})")


def await_executors(spark: SparkContext, processors: int, cores: int, *, seconds: float = _EXECUTORS_SECONDS) -> None:
    """Wait until there is an executor for each processor.

    Raises:
        RuntimeFailure: the cluster has no room for them, or can't start them.
    """
    deadline = time.monotonic() + seconds
    while (found := _count_executors(spark)) < processors:
        if time.monotonic() > deadline:
            memory = spark.getConf().get("spark.executor.memory")
            raise RuntimeFailure(
                f"the cluster has started {found} of {processors} executors, one for each processor, in "
                f"{seconds:.0f}s: each needs {cores} free cores and {memory} of one worker. Start more "
                "workers, end other applications, or lower spec.processors.count"
            )
        time.sleep(_LOOK_SECONDS)


def _count_executors(spark: SparkContext) -> int:
    """Count the executors that have registered; the driver is in Spark's list, too."""
    try:
        return int(spark._jsc.sc().getExecutorMemoryStatus().size()) - 1  # noqa: SLF001 - PySpark has no API for them
    except Py4JError:
        raise RuntimeFailure(
            "the cluster has ended the application: its executors failed to start, or its master stopped; the logs of "
            "the workers (their pages, or `work/app-*`) say why"
        ) from None
