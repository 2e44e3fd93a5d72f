"""A TCP proxy in front of a broker that knows Kafka's frames: it can hold requests back, cut connections, go silent.

Clients reach the broker through it alone, as the broker advertises the proxy's address: `Broker(..., advertised=port)`.
"""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass

HOST = "127.0.0.1"
PRODUCE, ADD_PARTITIONS, END_TXN = 0, 24, 26
_FLEXIBLE = {PRODUCE: 9}
"""The version from which on a request has tagged fields and compact strings."""
_ANSWER_SECONDS = 30.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a client, and the connection it came by."""

    connection: "Connection"
    frame: bytes

    @property
    def api_key(self) -> int:
        return struct.unpack_from(">h", self.frame)[0]

    @property
    def api_version(self) -> int:
        return struct.unpack_from(">h", self.frame, 2)[0]

    @property
    def correlation_id(self) -> int:
        return struct.unpack_from(">i", self.frame, 4)[0]

    @property
    def transactional_id(self) -> str:
        """The transactional id of a Produce or EndTxn request; both begin with it."""
        start, flexible = self._body(), self.api_version >= _FLEXIBLE.get(self.api_key, 1 << 15)
        length = self.frame[start] - 1 if flexible else struct.unpack_from(">h", self.frame, start)[0]
        start += 1 if flexible else 2
        return self.frame[start : start + max(length, 0)].decode()

    @property
    def ending(self) -> tuple[int, int, bool]:
        """The producer id and epoch of an EndTxn request, and whether it is a commit."""
        start = self._body()
        start += 2 + struct.unpack_from(">h", self.frame, start)[0]
        return struct.unpack_from(">qh?", self.frame, start)

    def _body(self) -> int:
        """Give where the header ends: after the client's id and, in flexible versions, no tagged fields."""
        end = 10 + max(struct.unpack_from(">h", self.frame, 8)[0], 0)
        return end + (self.api_version >= _FLEXIBLE.get(self.api_key, 1 << 15))


Policy = Callable[[Request], bool]
"""Says of a request whether it goes on to the broker now. Calls come one at a time."""


def pass_all(request: Request) -> bool:
    return True


class Connection:
    """A client's connection and its counterpart to the broker, which may outlive it."""

    def __init__(self, client: socket.socket, broker: socket.socket) -> None:
        self.client = client
        self.broker = broker
        self.kept = False
        """Whether the broker's side outlives the client's, for what is held back."""
        self._sending = threading.Lock()
        self._answered = threading.Condition()
        self._awaited: dict[int, bytes | None] = {}

    def cut(self) -> None:
        """End the client's side, as a network may do; what was on its way to the broker still gets there."""
        with suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """End both sides."""
        for side in (self.client, self.broker):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def end_requests(self) -> None:
        """Tell the broker that the client has gone: it reads what has come, and ends the connection."""
        with suppress(OSError):
            self.broker.shutdown(socket.SHUT_WR)

    def forward(self, frame: bytes) -> None:
        """Send a request to the broker."""
        with self._sending:
            self.broker.sendall(struct.pack(">i", len(frame)) + frame)

    def deliver(self, request: Request) -> bytes:
        """Send a request that was held back; give the body of the broker's answer, which the client does not get."""
        with self._answered:
            self._awaited[request.correlation_id] = None
        self.forward(request.frame)
        with self._answered:
            self._answered.wait_for(lambda: self._awaited[request.correlation_id] is not None, _ANSWER_SECONDS)
            answer = self._awaited.pop(request.correlation_id)
        assert answer is not None, "the broker has not answered"
        return answer[4:]

    def take_answer(self, frame: bytes) -> None:
        """Pass an answer on to the client, or to whoever awaits it."""
        correlation_id = struct.unpack_from(">i", frame)[0]
        with self._answered:
            if correlation_id in self._awaited:
                self._awaited[correlation_id] = frame
                self._answered.notify_all()
                return
        with suppress(OSError):
            self.client.sendall(struct.pack(">i", len(frame)) + frame)


class KafkaProxy:
    """A proxy that listens as soon as it is made; `target` is the port of the broker's that clients shall reach."""

    def __init__(self, policy: Policy = pass_all) -> None:
        self.policy = policy
        self.target = 0
        self._deciding = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self._connections: set[Connection] = set()
        self._running = 0
        self._ended = threading.Condition()
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self._in_background(self._accept)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._open.set()
        while not self._ended_within(_POLL_SECONDS):
            for connection in list(self._connections):
                connection.end()
        self._listener.close()

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"

    @contextmanager
    def silent(self):
        """Pass nothing on for a while, in no direction, and keep it: as a network that lost its way, and found it."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._in_background(lambda client=client: self._connect(client))

    def _connect(self, client: socket.socket) -> None:
        self._open.wait()
        with client, suppress(OSError), socket.create_connection((HOST, self.target)) as broker:
            for side in (client, broker):
                side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(client, broker)
            self._connections.add(connection)
            answers = self._in_background(lambda: self._pump_answers(connection))
            self._pump_requests(connection)
            if not connection.kept:
                connection.end_requests()
            answers.join()
            self._connections.discard(connection)

    def _pump_requests(self, connection: Connection) -> None:
        with suppress(OSError):
            while (frame := _read_frame(connection.client)) is not None:
                self._open.wait()
                with self._deciding:
                    passes = self.policy(Request(connection=connection, frame=frame))
                if passes:
                    connection.forward(frame)

    def _pump_answers(self, connection: Connection) -> None:
        with suppress(OSError):
            while (frame := _read_frame(connection.broker)) is not None:
                self._open.wait()
                connection.take_answer(frame)
        connection.end()

    def _in_background(self, work: Callable[[], None]) -> threading.Thread:
        def run():
            try:
                work()
            finally:
                with self._ended:
                    self._running -= 1
                    self._ended.notify_all()

        with self._ended:
            self._running += 1
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _ended_within(self, seconds: float) -> bool:
        with self._ended:
            return self._ended.wait_for(lambda: not self._running, seconds)


def _read_frame(source: socket.socket) -> bytes | None:
    """Read one frame without its length; None at the end."""
    head = _read(source, 4)
    return None if head is None else _read(source, struct.unpack(">i", head)[0])


def _read(source: socket.socket, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = source.recv(min(count - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)
