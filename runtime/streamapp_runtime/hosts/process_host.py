"""Processors as processes of this machine: a core each, and no JVM."""

import secrets
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import msgspec

from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.hosts.processor_launch import ProcessorLaunch, decode_outcome, final_report
from streamapp_runtime.processor.driver_channel import DriverChannel
from streamapp_runtime.processor.http_driver_channel import ChannelServer
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorConfig, ProcessorReport
from streamapp_runtime.threads import in_thread

_COMMAND = (sys.executable, "-m", "streamapp_runtime.hosts.worker")


class ProcessHost:
    """A host that runs each incarnation in an operating-system process of its own."""

    def __init__(self, channel: DriverChannel, log_folder: Path) -> None:
        """Listen for reports; the output of workers goes to `processors.log` in a folder."""
        self._log = log_folder / "processors.log"
        self._server = ChannelServer(channel.report, secrets.token_urlsafe(32))
        self._lock = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, config: ProcessorConfig) -> Future[ProcessorReport]:
        """See `ProcessorHost.start`. The worker is no member of the terminal's group: Ctrl-C is the driver's."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - a fixed command
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        with self._lock:
            self._processes[config.incarnation.number] = process
        return in_thread(f"processor-{config.incarnation.processor}", lambda: self._run(process, config))

    def cancel(self, incarnation: Incarnation) -> None:
        """See `ProcessorHost.cancel`."""
        with self._lock:
            process = self._processes.get(incarnation.number)
        if process is not None:
            process.kill()

    def close(self) -> None:
        """See `ProcessorHost.close`."""
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            process.kill()
            process.wait()
        self._server.close()

    def _run(self, process: subprocess.Popen[bytes], config: ProcessorConfig) -> ProcessorReport:
        launch = msgspec.json.encode(ProcessorLaunch(config=config, address=self._server.address))
        try:
            answer, _ = process.communicate(launch + b"\n")
        finally:
            with self._lock:
                self._processes.pop(config.incarnation.number, None)
        if not answer:
            raise ProcessorLost(f"its process died ({_cause(process.returncode)}); see {self._log}")
        return final_report(decode_outcome(answer), config.incarnation.processor)


def _cause(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
