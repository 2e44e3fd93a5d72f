"""The client of the API server when something else answers: a proxy, a load balancer, a server that starts."""

import json
from contextlib import closing

import pytest

from streamapp_systems.http_server import HttpServer, Response
from streamapp_systems.kubernetes.kubernetes_api import Kind, ServerUnavailableError
from streamapp_systems.kubernetes.kubernetes_client import KubernetesClient
from streamapp_systems.protocols import Unavailable


@pytest.fixture
def answers():
    return []


@pytest.fixture
def client(tmp_path, answers):
    with closing(HttpServer(lambda _: answers[-1], ("127.0.0.1", 0), name="api")) as server:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.port}"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(document))
        with closing(KubernetesClient(kubeconfig=path)) as client:
            yield client


@pytest.mark.parametrize("status", [200, 403, 502, 503])
def test_an_answer_that_is_no_object_is_an_outage(client, answers, status):
    answers.append(Response(status, b"<html>bad gateway</html>", "text/html"))
    with pytest.raises(ServerUnavailableError, match=f"status {status} without an object") as raised:
        client.get(Kind.POD, "team", "p")
    assert isinstance(raised.value, Unavailable)


def test_a_server_that_is_not_there_is_an_outage(tmp_path, client, answers):
    answers.append(Response(500, b'{"message": "etcd is away"}', "application/json"))
    with pytest.raises(ServerUnavailableError, match="etcd is away"):
        client.list(Kind.POD, "team")
