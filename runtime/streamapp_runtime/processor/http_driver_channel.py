"""The channel over HTTP, for processors in other processes: one small POST a report, authenticated by a token."""

import hmac
import threading
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import msgspec

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, NoAnswer
from streamapp_runtime.processor.processor_report import ProcessorReport

_ANSWER_SECONDS = 3.0
_LARGEST_REPORT = 64 << 20
_decode = msgspec.json.Decoder(ProcessorReport).decode


class ChannelAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the driver, and the token that proves a report comes from one of its processors."""

    host: str
    port: int
    token: str


class HttpChannel:
    """The channel of a processor: a connection per report, so that a driver that is gone is noticed at once."""

    def __init__(self, address: ChannelAddress) -> None:
        self._address = address

    def report(self, report: ProcessorReport) -> Command:
        """See `DriverChannel.report`."""
        connection = HTTPConnection(self._address.host, self._address.port, timeout=_ANSWER_SECONDS)
        headers = {"Authorization": f"Bearer {self._address.token}"}
        try:
            connection.request("POST", "/report", msgspec.json.encode(report), headers)
            response = connection.getresponse()
            answer = response.read()
        except ConnectionRefusedError as error:
            raise DriverLost(f"the driver is gone: {error}") from None
        except (OSError, HTTPException) as error:
            raise NoAnswer(str(error) or type(error).__name__) from None
        finally:
            connection.close()
        if response.status != 200:  # noqa: PLR2004 - OK
            raise DriverLost(f"the driver refused the report: {response.status} {response.reason}")
        return Command(answer.decode())


class _Server(ThreadingHTTPServer):
    request_queue_size = 1_024
    """Connections that may wait; beyond these a client's system tries again only after a second, then after three."""


class ChannelServer:
    """The server of the driver: it passes every report to `receive` and answers with the command that this returns."""

    def __init__(
        self,
        receive: Callable[[ProcessorReport], Command],
        token: str,
        listen: tuple[str, int] = ("127.0.0.1", 0),
        host: str | None = None,
    ) -> None:
        """Listen until closed: on a free port of the loopback interface, or where `listen` says.

        `host` is the name under which processors find it.
        """
        self._server = _Server(listen, _handler(receive, token))
        self._thread = threading.Thread(target=self._server.serve_forever, name="channel", daemon=True)
        self._thread.start()
        address, port = self._server.server_address[:2]
        self.address = ChannelAddress(host=host or str(address), port=port, token=token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(receive: Callable[[ProcessorReport], Command], token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            if not hmac.compare_digest(self.headers.get("Authorization", ""), f"Bearer {token}"):
                self._answer(401, b"")
                return
            length = int(self.headers.get("Content-Length", 0))
            if length > _LARGEST_REPORT:
                self._answer(413, b"")
                return
            try:
                report = _decode(self.rfile.read(length))
            except msgspec.DecodeError as error:
                self._answer(400, str(error).encode())
                return
            self._answer(200, receive(report).value.encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Keep quiet: a line per report is no news."""

    return Handler
