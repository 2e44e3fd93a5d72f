"""The channel over HTTP, for processors in other processes: one small POST a report, authenticated by a token."""

import hmac
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import Self

import msgspec

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, NoAnswer
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_systems.http_server import HttpServer, Request, Response

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
        self._receive = receive
        self._token = token
        self._server = HttpServer(self._answer, listen, name="channel")
        self.address = ChannelAddress(host=host or self._server.host, port=self._server.port, token=token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(405)
        if not hmac.compare_digest(request.authorization, f"Bearer {self._token}"):
            return Response(401)
        if request.length > _LARGEST_REPORT:
            return Response(413)
        try:
            report = _decode(request.read())
        except msgspec.DecodeError as error:
            return Response(400, str(error).encode())
        return Response(200, self._receive(report).value.encode())
