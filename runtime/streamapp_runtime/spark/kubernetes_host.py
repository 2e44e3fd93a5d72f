"""Processors in executors of Spark on Kubernetes, one in each (docs/architecture.md).

Executors come and go; the Kubernetes operator decides which processor each of them runs.
"""

import json
import secrets
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path

import msgspec
import structlog
from py4j.protocol import Py4JError

from streamapp_core.deployment import kubernetes_names as names
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.errors import ProcessorLost, RuntimeFailure
from streamapp_runtime.hosts.processor_launch import ProcessorLaunch, decode_outcome, final_report
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.http_driver_channel import ChannelServer
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.spark.channel_certificate import make_channel_certificate
from streamapp_runtime.spark.driver_environment import DriverEnvironment
from streamapp_runtime.spark.driver_jvm import DriverJvm
from streamapp_runtime.spark.executor_binding import run_on_executor
from streamapp_runtime.spark.kubernetes_settings import kubernetes_settings
from streamapp_runtime.spark.local_session import start_spark
from streamapp_runtime.spark.rpc_security import rpc_security_settings
from streamapp_runtime.spark.run_secret import RunSecret
from streamapp_runtime.spark.spark_jobs import failure_cause, job_group, name_job
from streamapp_runtime.spark.spark_logging import write_log_settings
from streamapp_runtime.threads import in_thread
from streamapp_systems.kubernetes.kubernetes_api import Object

_LOOK_SECONDS = 0.2
_log = structlog.get_logger("streamapp.driver")


class KubernetesHost:
    """A host that runs each processor in the Python worker of its executor."""

    def __init__(
        self,
        channel: DriverChannel,
        app: StreamApp,
        environment: DriverEnvironment,
        *,
        processors: int,
        template: Object,
        secret: RunSecret,
        jvm: DriverJvm | None,
        draining: threading.Event,
    ) -> None:
        """Start Spark in a JVM (None: in one of its own), which requests an executor per processor, from a template.

        Who lets a driver drain deletes its pod, and thereby its executors: then there is no need to wait for Spark.

        Raises:
            RuntimeFailure: Java has not started.
        """
        self._jvm_process, self._draining = jvm, draining
        folder = Path(tempfile.mkdtemp(prefix="streamapp-"))
        self._server = ChannelServer(
            channel.report,
            secrets.token_urlsafe(32),
            listen=("", names.CHANNEL_PORT),
            host=environment.host,
            certificate=make_channel_certificate(folder),
        )
        template_file, secret_file = folder / "executor.json", folder / "secret"
        template_file.write_text(json.dumps(template))
        secret_file.write_text(secret.value)
        settings = kubernetes_settings(app, environment, processors, template_file, write_log_settings(folder))
        try:
            with nullcontext() if jvm is None else jvm.offered():
                self._spark = start_spark(settings | rpc_security_settings(secret_file))
        except OSError as error:
            raise RuntimeFailure(f"Spark has not started: {error}") from error
        self._context = self._spark._jsc.sc()  # noqa: SLF001 - PySpark has no API for executors
        self._jvm = self._spark._gateway.jvm  # noqa: SLF001 - likewise
        self._lock = threading.Lock()
        self._cancelled: set[int] = set()

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """See `ProcessorHost.start`. The incarnation waits until its executor is there."""
        return in_thread(f"processor-{config.incarnation.processor}", lambda: self._run(config))

    def cancel(self, incarnation: Incarnation) -> None:
        """See `ProcessorHost.cancel`: Spark kills the worker within a second or so, if it can be reached."""
        with self._lock:
            self._cancelled.add(incarnation.number)
        self._spark.cancelJobGroup(job_group(incarnation))

    def executors(self) -> Mapping[str, str]:
        """Return the executors that are registered: id -> host."""
        managers = self._context.env().blockManager().master().getMemoryStatus().keySet().toSeq()
        found = [managers.apply(index) for index in range(managers.size())]
        return {str(manager.executorId()): str(manager.host()) for manager in found if not manager.isDriver()}

    def keep(self, processors: int, model: JobModel) -> None:
        """Request so many executors, and kill those beyond that number that are bound to no processor any more."""
        bound = {processor.executor for processor in model.processors.values()}
        alive = self.executors()
        idle = sorted(alive.keys() - bound)
        for executor in idle[: max(len(alive) - processors, 0)]:
            self._context.killExecutor(executor)
        self._context.requestTotalExecutors(processors, 0, self._jvm.PythonUtils.toScalaMap({}))

    def close(self) -> None:
        """See `ProcessorHost.close`."""
        if self._draining.is_set() and self._jvm_process is not None:
            self._jvm_process.kill()
        else:
            self._spark.stop()
        self._server.close()

    def _run(self, config: ProcessorConfig) -> ProcessorReport:
        incarnation = config.incarnation
        executor, host = self._await_executor(config)
        _log.info("processor starts", processor=incarnation.processor, executor=executor)
        launch = msgspec.json.encode(ProcessorLaunch(config=config, address=self._server.address))
        try:
            name_job(self._spark, config)
            outcome = run_on_executor(self._spark, executor, host, launch)
        except Py4JError as error:
            raise ProcessorLost(f"its worker died on executor {executor} ({failure_cause(error)})") from None
        return final_report(decode_outcome(outcome), incarnation.processor)

    def _await_executor(self, config: ProcessorConfig) -> tuple[str, str]:
        """Wait for the executor that the job model binds a processor to, and return its id and host."""
        incarnation = config.incarnation
        model = JobModel.model_validate_json(config.job_model)
        executor = model.processors[incarnation.processor].executor
        while True:
            with self._lock:
                if incarnation.number in self._cancelled:
                    raise ProcessorLost(f"executor {executor or 'for it'} has not come")
            host = None if executor is None else self.executors().get(executor)
            if executor is not None and host is not None:
                return executor, host
            time.sleep(_LOOK_SECONDS)
