"""Archives the classes that Spark's JVMs load at their start, so that drivers and executors start in half of the time.

It also writes the options with which PySpark starts the JVM of a driver: drivers do without the script of PySpark.

Run it once, while an image is built, with the folder that gets the archives. It starts Spark as on Kubernetes, against
an API server of its own that runs each executor as a process. A JVM takes an archive only with the same Java and the
same jars first on its class path: those of `spark.jar`, which names them all.
"""

import base64
import hashlib
import itertools
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext

_HERE = "127.0.0.1"
_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xlog:cds=error"
_HEAP = "480m"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_SECONDS = 120
_WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MANIFEST_LINE = 70


def main() -> None:
    """Write `spark.jar`, `driver.jsa`, `driver.options` and `executor.jsa`."""
    into = Path(sys.argv[1])
    into.mkdir(parents=True, exist_ok=True)
    jar = into / "spark.jar"
    _write_jar(jar, sorted(Path(pyspark.__path__[0], "jars").glob("*.jar")))
    os.environ |= {"SPARK_LOCAL_IP": _HERE, "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as work:
        executors = _Executors(jar, into / "executor.jsa", Path(work, "secret"))
        server = _ApiServer(executors)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = _run_driver(f"k8s://http://{_HERE}:{server.server_port}", jar, into / "driver.jsa", executors.secret)
        (into / "driver.options").write_text("\n".join(options))
        executors.wait()
    lacking = [name for name in ("driver.jsa", "executor.jsa") if not (into / name).is_file()]
    if lacking:
        sys.exit(f"Java has not written {', '.join(lacking)}")


def _write_jar(jar: Path, named: list[Path]) -> None:
    """Write a jar that holds nothing but the names of others: a class path whose order is the same everywhere.

    For archives, the JVM knows relative names only.
    """
    text = "Class-Path: " + " ".join(os.path.relpath(path, jar.parent) for path in named)
    lines = [text[at : at + _MANIFEST_LINE] for at in range(0, len(text), _MANIFEST_LINE)]
    with zipfile.ZipFile(jar, "w") as file:
        entry = zipfile.ZipInfo("META-INF/MANIFEST.MF")  # of 1980, as all entries without a time are
        file.writestr(entry, "Manifest-Version: 1.0\r\n" + "\r\n ".join(lines) + "\r\n\r\n")
    os.utime(jar, (0, 0))  # the JVM compares it, and layers may keep no other


def _run_driver(master: str, jar: Path, archive: Path, secret: Path) -> list[str]:
    """Run a job on an executor, and end the driver's JVM, which then writes its archive; return its options."""
    secret.write_text(secrets.token_urlsafe(48))
    settings = {
        "spark.master": master,
        "spark.app.name": "classes",
        "spark.authenticate": "true",
        "spark.authenticate.secret.driver.file": str(secret),
        "spark.authenticate.secret.executor.file": os.devnull,
        "spark.driver.bindAddress": _HERE,
        "spark.driver.extraClassPath": str(jar),
        "spark.driver.extraJavaOptions": f"{_JAVA} -XX:ArchiveClassesAtExit={archive}",
        "spark.driver.host": _HERE,
        "spark.driver.memory": _HEAP,
        "spark.executor.cores": "1",
        "spark.executor.instances": "1",
        "spark.executor.memory": _HEAP,
        "spark.kubernetes.allocation.batch.delay": "200ms",
        "spark.kubernetes.container.image": "none",
        "spark.network.crypto.authEngineVersion": "2",
        "spark.network.crypto.cipher": "AES/GCM/NoPadding",
        "spark.network.crypto.enabled": "true",
        "spark.ui.enabled": "false",
    }
    context = SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))
    jvm = context._gateway  # noqa: SLF001 - to wait for its end
    assert context.parallelize([1], 1).map(str).collect() == ["1"]
    _, *options = Path(f"/proc/{jvm.proc.pid}/cmdline").read_text().split("\0")
    context.stop()
    jvm.shutdown()
    jvm.proc.stdin.close()
    jvm.proc.wait(_SECONDS)
    passing = (f"-XX:ArchiveClassesAtExit={archive}", f"-Xmx{_HEAP}")
    return [option for option in options[: options.index(_SUBMIT)] if option not in passing]


class _Executors:
    """The executors that Spark asks for, as processes of this machine."""

    def __init__(self, jar: Path, archive: Path, secret: Path) -> None:
        self._jar = jar
        self._archive = archive
        self._processes: list[subprocess.Popen[bytes]] = []
        self.secret = secret

    def start(self, pod: dict[str, Any]) -> None:
        """Start the executor of a pod, with the options that the image's entrypoint gives it."""
        (container,) = pod["spec"]["containers"]
        name, secret = pod["metadata"]["name"], base64.b64encode(self.secret.read_bytes()).decode()
        given = {item["name"]: item.get("value", _HERE) for item in container["env"]}
        command = ["java", *_JAVA.split(), f"-XX:ArchiveClassesAtExit={self._archive}", f"-Xmx{_HEAP}"]
        command += (value for variable, value in sorted(given.items()) if variable.startswith("SPARK_JAVA_OPT_"))
        command += ["-cp", str(self._jar), "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"]
        arguments = {
            "driver-url": given["SPARK_DRIVER_URL"],
            "executor-id": given["SPARK_EXECUTOR_ID"],
            "cores": given["SPARK_EXECUTOR_CORES"],
            "app-id": given["SPARK_APPLICATION_ID"],
            "hostname": given["SPARK_EXECUTOR_POD_IP"],
            "podName": name,
            "resourceProfileId": given["SPARK_RESOURCE_PROFILE_ID"],
        }
        command += (text for argument, value in arguments.items() for text in (f"--{argument}", value))
        self._processes.append(
            subprocess.Popen(  # noqa: S603 - what Spark has asked for
                command,
                env={**os.environ, **given, "SPARK_EXECUTOR_POD_NAME": name, "_SPARK_AUTH_SECRET": secret},
            )
        )

    def wait(self) -> None:
        """Wait until they have ended."""
        for process in self._processes:
            process.wait(_SECONDS)


class _ApiServer(ThreadingHTTPServer):
    """An API server: pods that are created run until its end, and watches are told of them."""

    def __init__(self, executors: _Executors) -> None:
        super().__init__((_HERE, 0), _Handler)
        self.executors = executors
        self.pods: list[dict[str, Any]] = []
        self.created = threading.Condition()

    def create(self, pod: dict[str, Any]) -> None:
        """Note a pod, and start its executor."""
        state = {"name": pod["spec"]["containers"][0]["name"], "state": {"running": {}}, "ready": True}
        with self.created:
            self.pods.append(pod | {"status": {"phase": "Running", "containerStatuses": [state]}})
            self.created.notify_all()
        self.executors.start(pod)

    def next_pod(self, told: int) -> dict[str, Any]:
        """Wait until there are more pods than so many, and return the next one."""
        with self.created:
            self.created.wait_for(lambda: len(self.pods) > told)
            return self.pods[told]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _ApiServer

    def do_GET(self) -> None:
        if "watch=true" in self.path:
            self._watch()
        plural = self.path.partition("?")[0].rpartition("/")[2]
        items = self.server.pods if plural == "pods" else []
        kind = {"pods": "PodList", "configmaps": "ConfigMapList"}.get(plural, "List")
        self._answer({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items})

    def do_POST(self) -> None:
        body = json.loads(self._body())
        body["metadata"] |= {"uid": "0", "resourceVersion": "1"}
        self._answer(body, status=201)
        if body["kind"] == "Pod":
            self.server.create(body)

    def do_DELETE(self) -> None:
        self._body()
        self._answer({"apiVersion": "v1", "kind": "Status", "status": "Success"})

    def _watch(self) -> None:
        """Answer as a WebSocket (RFC 6455): each event is a text frame of medium length."""
        accept = hashlib.sha1(f"{self.headers['Sec-WebSocket-Key']}{_WEBSOCKET}".encode(), usedforsecurity=False)
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept.digest()).decode())
        self.end_headers()
        for told in itertools.count():
            event = json.dumps({"type": "ADDED", "object": self.server.next_pod(told)}).encode()
            self.wfile.write(b"\x81\x7e" + len(event).to_bytes(2, "big") + event)
            self.wfile.flush()

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _answer(self, document: dict[str, Any], status: int = 200) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    main()
