from http.client import HTTPConnection

import pytest

from streamapp_systems.http_server import HttpServer, Response


def echo(request):
    if request.path == "/large":
        return Response(413)
    text = f"{request.method} {request.path} {request.authorization} {request.length} {request.read().decode()}"
    return Response(200, text.encode(), "text/x-echo")


@pytest.fixture
def server():
    with HttpServer(echo, ("127.0.0.1", 0), name="echo") as server:
        yield server


def ask(server, method, path, body=None, **headers):
    connection = HTTPConnection(server.host, server.port, timeout=5)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, response.headers["Content-Type"], response.read().decode()
    finally:
        connection.close()


def test_a_request_is_answered_by_the_function(server):
    assert ask(server, "GET", "/a") == (200, "text/x-echo", "GET /a  0 ")
    assert ask(server, "POST", "/b", b"hi", Authorization="Bearer x") == (200, "text/x-echo", "POST /b Bearer x 2 hi")


def test_a_body_can_be_refused_unread(server):
    assert ask(server, "POST", "/large", b"x" * 10_000)[0] == 413


def test_nothing_is_answered_after_the_end():
    with HttpServer(echo, ("127.0.0.1", 0), name="echo") as server:
        pass
    with pytest.raises(ConnectionRefusedError):
        ask(server, "GET", "/a")
