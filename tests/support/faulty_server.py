"""A server before another one: requests go through it, and some of them, or their answers, go wrong."""

from collections.abc import Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

_PASSED_ON = ("content-length", "content-type", "content-range", "etag", "last-modified", "accept-ranges")

Fault = Callable[[str, str], str | None]
"""What happens to a request, by its method and path: `lost` (it is done, and not answered), `failed` (done, and
answered with 503), `conflict` (answered with 409 and not done), or None."""


class FaultyServer:
    """Passes requests on as they are, so that their signatures hold. `with FaultyServer(endpoint) as before:`."""

    def __init__(self, endpoint: str) -> None:
        self.fault: Fault = lambda _method, _path: None
        self.seen: list[tuple[str, str]] = []
        behind, seen, owner = urlsplit(endpoint), self.seen, self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_request(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                seen.append((self.command, self.path))
                fault = owner.fault(self.command, self.path)
                if fault == "conflict":
                    self.answer(409, {}, b"<Error><Code>ConditionalRequestConflict</Code></Error>")
                    return
                connection = HTTPConnection(behind.hostname or "", behind.port)
                connection.request(self.command, self.path, body, dict(self.headers))
                found = connection.getresponse()
                headers = {name: value for name, value in found.getheaders() if name.lower() in _PASSED_ON}
                answer = found.read()
                connection.close()
                if fault == "lost":
                    self.close_connection = True
                elif fault == "failed":
                    self.answer(503, {}, b"<Error><Code>SlowDown</Code></Error>")
                else:
                    self.answer(found.status, headers, answer)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request  # noqa: N815 - the names are those of http.server

            def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() != "content-length" or self.command == "HEAD":
                        self.send_header(name, value)
                if self.command != "HEAD":
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever)

    @property
    def endpoint(self) -> str:
        """The address of this server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "FaultyServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
