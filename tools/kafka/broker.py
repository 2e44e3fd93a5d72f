"""One Kafka node, broker and perhaps controller, on the loopback interface, with its data in a temporary folder."""

import base64
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.companion import Companion
from tools.kafka.class_archive import start_options
from tools.kafka.jars import BrokerError
from tools.kafka.security import Login, make_certificate
from tools.scratch import Scratch
from tools.startable import Startable

__all__ = ["Broker", "BrokerError", "Login"]

HOST = "127.0.0.1"
_START_SECONDS = 180
_PORTS = range(10_000, 30_000)
"""Linux takes those of outgoing connections from 32768 on."""
_ATTEMPTS = 3
_CLUSTER_ID = base64.urlsafe_b64encode(b"streamapp-broker").decode().rstrip("=")

_PROPERTIES = """
process.roles={roles}
node.id={node}
controller.quorum.bootstrap.servers={host}:{controller}
controller.listener.names=CONTROLLER
listeners={listeners}
advertised.listeners={advertised}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,SECURED:SASL_SSL
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
auto.create.topics.enable=false
"""

_LOGGING = """
rootLogger.level=WARN
rootLogger.appenderRef.stdout.ref=stdout
appender.stdout.type=Console
appender.stdout.name=stdout
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=%d{ISO8601} %p %m (%c)%n%throwable
"""


class Broker(Startable):
    """A broker process. `with Broker(jars) as broker:` starts it and removes it with all it holds.

    `kill` and `start` in between are a crash and a restart at the same address with the same data. With a `login` it
    listens at a second port too, where clients must use TLS and log in. With the port of a `proxy` it listens at
    another one, whose clients are told to come to the proxy. It is broker and controller at once, or it joins the
    cluster of another one as the broker with the id `node`. `settings` are further ones of the node, `java_options` of
    its JVM.
    """

    def __init__(
        self,
        jars: Path,
        *,
        port: int = 0,
        login: Login | None = None,
        proxy: int = 0,
        joins: "Broker | None" = None,
        node: int = 1,
        settings: Mapping[str, str | int] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self._jars = jars
        self._login = login
        self._proxy = proxy
        self._joins = joins
        self._node = node
        self._settings = settings or {}
        self._java_options = java_options
        self._given_port = port
        self._scratch = Scratch("streamapp-kafka-")
        self._folder = self._scratch.folder
        self._process: Companion | None = None
        self.port = port
        self.controller_port = 0
        self.secured_port = 0
        self.proxied_port = 0
        """The port that a proxy passes connections on to."""

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The broker's process."""
        assert self._process is not None
        return self._process.pid

    @property
    def data(self) -> Path:
        """The folder with the logs of the topics."""
        return self._folder / "data"

    @property
    def secured_servers(self) -> str:
        """The address for clients with TLS and a login."""
        return f"{HOST}:{self.secured_port}"

    @property
    def certificate(self) -> Path:
        """The certificate that clients with TLS must trust, as PEM."""
        return self._folder / "certificate.pem"

    def start(self) -> None:
        """Start the process and wait until it accepts connections.

        Raises:
            BrokerError: it ended or did not come up; the message has the end of its log.
        """
        java = ["java", "-Xms256m", "-Xmx512m", *start_options(self._jars), *self._java_options]
        command = [*java, *self._class_path(), "kafka.Kafka", str(self._folder / "server.properties")]
        self._process = Companion(command, self._folder / "log")
        deadline = time.monotonic() + _START_SECONDS
        while not self.accepts():
            if self._process.ended or time.monotonic() > deadline:
                raise BrokerError(f"Kafka did not start:\n{self.log()[-4000:]}")
            time.sleep(0.05)

    def accepts(self) -> bool:
        """Return whether the broker takes connections."""
        try:
            with socket.create_connection((HOST, self.port), timeout=1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """End the process at once, as a crash would; what it holds stays for `start`."""
        if self._process is not None:
            self._process.kill()

    def terminate(self, seconds: float = 30) -> None:
        """End the process as an operator does: other brokers take over its partitions first. It has so many seconds."""
        if self._process is not None:
            self._process.terminate(seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend the process for a while, as an overloaded machine does."""
        assert self._process is not None
        with self._process.paused():
            yield

    def wait(self) -> int:
        """Wait until the process ends by itself, and give its exit code."""
        return 0 if self._process is None else self._process.wait()

    def close(self) -> None:
        """End the process and remove what it holds."""
        self.kill()
        self._scratch.close()

    def log(self) -> str:
        """Read what the broker has logged."""
        log = self._folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _start(self) -> None:
        """Start on free ports; another process may take one before Kafka does, so try again then."""
        if self._given_port and _taken(self._given_port):
            raise BrokerError(f"Port {self._given_port} of {HOST} is taken: end what listens there, or choose another.")
        for attempt in range(_ATTEMPTS):
            self._format()
            try:
                self.start()
            except BrokerError:
                if self._given_port or attempt == _ATTEMPTS - 1:
                    raise
                self.kill()
            else:
                return

    def _format(self) -> None:
        shutil.rmtree(self._folder / "data", ignore_errors=True)
        for file in ("keys.p12", "certificate.pem"):
            (self._folder / file).unlink(missing_ok=True)
        (self._folder / "server.properties").write_text(self._properties())
        (self._folder / "log4j2.properties").write_text(_LOGGING)
        storage = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID]
        storage += ["--standalone"] if self._joins is None else []
        storage += [] if self._login is None else self._login.storage_options
        command = ["java", *start_options(self._jars), *self._class_path(), *storage]
        done = subprocess.run(  # noqa: S603 - a fixed command
            [*command, "-c", str(self._folder / "server.properties")],
            capture_output=True,
            text=True,
            check=False,
            timeout=_START_SECONDS,
        )
        if done.returncode:
            raise BrokerError(f"Kafka's storage could not be prepared:\n{done.stdout}{done.stderr}")

    def _properties(self) -> str:
        """Choose ports, make what the listeners need, and write the node's settings."""
        self.port = self._given_port or _free_port()
        listeners = [f"PLAINTEXT://{HOST}:{self.port}"]
        if self._joins is None:
            self.controller_port = _free_port()
            listeners.append(f"CONTROLLER://{HOST}:{self.controller_port}")
        else:
            self.controller_port = self._joins.controller_port
        advertised, secured = list(listeners), ""
        if self._login is not None:
            self.secured_port = _free_port()
            listeners.append(f"SECURED://{HOST}:{self.secured_port}")
            advertised.append(listeners[-1])
            keys = self._folder / "keys.p12"
            make_certificate(keys, self.certificate, HOST)
            secured = self._login.properties(keys)
        if self._proxy:
            self.proxied_port = _free_port()
            listeners.append(f"PROXIED://{HOST}:{self.proxied_port}")
            advertised.append(f"PROXIED://{HOST}:{self._proxy}")
        common = _PROPERTIES.format(
            roles="broker,controller" if self._joins is None else "broker",
            node=self._node,
            host=HOST,
            controller=self.controller_port,
            listeners=",".join(listeners),
            advertised=",".join(advertised),
            folder=self._folder,
        )
        return common + secured + "".join(f"\n{name}={value}" for name, value in self._settings.items())

    def _class_path(self) -> list[str]:
        logging = self._folder / "log4j2.properties"
        return ["-cp", f"{self._jars}/*", f"-Dlog4j2.configurationFile={logging}"]


def _free_port() -> int:
    """Find a port that no outgoing connection is given: one could take it from a broker that is to start again."""
    while _taken(port := secrets.choice(_PORTS)):
        pass
    return port


def _taken(port: int) -> bool:
    """Return whether somebody listens at a port; connections that have just ended are no hindrance."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return True
    return False
