"""The channel over HTTP, for processors in other processes: one small POST a report, authenticated by a token.

Between pods it is HTTPS: the driver has a certificate of its own, which its processors know and trust alone.
"""

import hmac
import ssl
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Self

import msgspec

from streamapp_runtime.errors import DriverLost
from streamapp_runtime.processor.driver_channel import Command, NoAnswer
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_systems.certificates import ServerCertificate
from streamapp_systems.http_server import HttpServer, Request, Response

_ANSWER_SECONDS = 3.0
_LARGEST_REPORT = 64 << 20
_NO_CHECK_OF_TIMES = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python does not name: the clocks of two nodes may differ."""
_decode = msgspec.json.Decoder(ProcessorReport).decode


class ChannelAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the driver, and the token that proves a report comes from one of its processors.

    `certificate` is the driver's (PEM); without one the channel is not encrypted: within one machine.
    """

    host: str
    port: int
    token: str
    certificate: str = ""


class HttpChannel:
    """The channel of a processor: a connection per report, so that a driver that is gone is noticed at once."""

    def __init__(self, address: ChannelAddress) -> None:
        self._address = address
        self._tls = _trust(address.certificate) if address.certificate else None

    def report(self, report: ProcessorReport) -> Command:
        """See `DriverChannel.report`."""
        connection = self._connection()
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

    def _connection(self) -> HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._tls is None:
            return HTTPConnection(host, port, timeout=_ANSWER_SECONDS)
        return HTTPSConnection(host, port, timeout=_ANSWER_SECONDS, context=self._tls)


def _trust(certificate: str) -> ssl.SSLContext:
    """Return a client's side of TLS that trusts one certificate, whatever its host, and whatever the clocks say."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    context.verify_flags |= _NO_CHECK_OF_TIMES
    return context


class ChannelServer:
    """The server of the driver: it passes every report to `receive` and answers with the command that this returns."""

    def __init__(
        self,
        receive: Callable[[ProcessorReport], Command],
        token: str,
        listen: tuple[str, int] = ("127.0.0.1", 0),
        host: str | None = None,
        certificate: ServerCertificate | None = None,
    ) -> None:
        """Listen until closed: on a free port of the loopback interface, or where `listen` says.

        `host` is the name under which processors find it. With a certificate, reports are encrypted.
        """
        self._receive = receive
        self._token = token
        tls = None if certificate is None else certificate.context
        self._server = HttpServer(self._answer, listen, name="channel", tls=tls)
        self.address = ChannelAddress(
            host=host or self._server.host,
            port=self._server.port,
            token=token,
            certificate="" if certificate is None else certificate.text,
        )

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
