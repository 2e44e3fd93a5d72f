"""The validating webhook: an HTTPS server that API servers ask before they store a StreamApp.

Anybody in the cluster can ask it, too. So it opens no connection for a request, reads and judges two at a time, and
closes connections that are too many.
"""

import ssl
import threading
from collections.abc import Callable

import structlog

from streamapp_operator.decide.admission import AdmissionVerdict
from streamapp_operator.observe.admission_reviews import AdmissionRequest, parse_admission_review
from streamapp_operator.status.admission_response import build_admission_response
from streamapp_systems.http_server import HttpServer, Request, Response

PATH = "/validate"
_LARGEST_REVIEW = 4 << 20
"""The object and what it replaces, each as large as an API server stores them, with room for managed fields."""
_AT_ONCE = 2
_MOST_CONNECTIONS = 32
_WAIT_SECONDS = 5.0
_JSON = "application/json"
_log = structlog.get_logger()


def serve_webhook(port: int, tls: ssl.SSLContext, judge: Callable[[AdmissionRequest], AdmissionVerdict]) -> HttpServer:
    """Answer requests on a port of all interfaces (0: a free one) until closed.

    A request that can't be judged gets an HTTP error: what then happens to the resource, the API server knows by the
    webhook's `failurePolicy`.

    Raises:
        OSError: the port is in use.
    """
    turns = threading.BoundedSemaphore(_AT_ONCE)

    def answer(request: Request) -> Response:
        if (request.method, request.path.partition("?")[0]) != ("POST", PATH):
            return Response(404, PATH.encode())
        if not 0 < request.length <= _LARGEST_REVIEW:
            return Response(413, f"at most {_LARGEST_REVIEW} bytes".encode())
        if not turns.acquire(timeout=_WAIT_SECONDS):
            return Response(503, b"other apps are being judged; try again")
        try:
            return _answer(request.read(), judge)
        finally:
            turns.release()

    return HttpServer(answer, ("", port), name="webhook", tls=tls, most_connections=_MOST_CONNECTIONS)


def _answer(data: bytes, judge: Callable[[AdmissionRequest], AdmissionVerdict]) -> Response:
    try:
        review = parse_admission_review(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Response(400, f"this is no AdmissionReview of a StreamApp: {error}".encode())
    try:
        verdict = judge(review)
    except Exception as error:  # noqa: BLE001 - one app must not break the judging of all others
        _log.exception("an app could not be judged before it is stored", app=str(review.app.key))
        return Response(500, f"it can't be judged: {error!r}".encode())
    return Response(200, build_admission_response(review, verdict), _JSON)
