"""The validating webhook over HTTPS: its answers, its bounds, its certificate."""

import json
import socket
import ssl
import threading
import urllib.error
import urllib.request
from http.client import HTTPSConnection

import pytest

from streamapp_core.problems import PlanWarning, Problem, ProblemCode, WarningCode
from streamapp_operator.decide.admission import AdmissionVerdict
from streamapp_operator.process.admission_webhook import PATH, serve_webhook
from streamapp_operator.process.webhook_certificate import MountedCertificate, OwnCertificate
from streamapp_systems.certificates import make_certificate, write_certificate
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.kubernetes_api import MemoryCluster
from support.waiting import eventually

APP = {"metadata": {"name": "shop"}, "spec": {"streams": {}}}
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {"uid": "u-1", "namespace": "a", "name": "shop", "operation": "CREATE", "object": APP},
}
ADMITTED = AdmissionVerdict()
WEBHOOK = {"name": "w", "clientConfig": {"service": {"name": "s"}}, "rules": [{"operations": ["CREATE"]}]}


def problems(number):
    return tuple(
        Problem(path=f"spec.operators[{n}]", code=ProblemCode.INVALID_SPEC, message=f"m{n}") for n in range(number)
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("own"), "webhook", ["localhost"])


@pytest.fixture
def ask(certificate):
    """A function that starts a webhook with a judge, and returns one that sends it a body."""
    servers = []

    def start(judge):
        server = serve_webhook(0, certificate.context, judge)
        servers.append(server)
        return lambda body, path=PATH: post(server, certificate.text, body, path)

    yield start
    for server in servers:
        server.close()


def post(server, trusted, body, path=PATH):
    context = ssl.create_default_context(cadata=trusted)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(f"https://localhost:{server.port}{path}", data, timeout=30, context=context) as r:
            return r.status, json.loads(r.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_an_app_is_admitted_with_the_id_of_its_request(ask):
    seen = []
    send = ask(lambda request: seen.append(request) or ADMITTED)
    assert send(REVIEW, f"{PATH}?timeout=5s") == (
        200,
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": "u-1", "allowed": True},
        },
    )
    assert (str(seen[0].app.key), seen[0].before) == ("a/shop", None)


def test_an_app_whose_name_is_yet_to_be_generated_is_judged(ask):
    seen = []
    request = {name: value for name, value in REVIEW["request"].items() if name != "name"}
    app = {**APP, "metadata": {"generateName": "shop-"}}
    assert (
        ask(lambda request: seen.append(request) or ADMITTED)({**REVIEW, "request": {**request, "object": app}})[0]
        == 200
    )
    assert str(seen[0].app.key) == "a/"


def test_a_spec_that_is_too_large_is_admitted_with_a_warning(ask):
    _, answer = ask(lambda _: AdmissionVerdict(too_large=True))(REVIEW)
    assert answer["response"]["allowed"]
    assert "not judged before it is stored" in answer["response"]["warnings"][0]


def test_a_refusal_has_a_cause_for_each_problem_as_far_as_a_status_takes_them(ask):
    _, answer = ask(lambda _: AdmissionVerdict(problems=problems(103)))(REVIEW)
    status = answer["response"]["status"]
    assert not answer["response"]["allowed"]
    assert (status["reason"], status["code"], len(status["details"]["causes"])) == ("Invalid", 422, 100)
    assert status["details"]["causes"][1]["field"] == "spec.operators[1]"
    assert status["message"].startswith("103 problems: spec.operators[0]: InvalidSpec: m0; ")
    assert status["message"].endswith("; and 3 more")


def test_what_the_plan_warns_of_is_shown_though_the_app_is_admitted(ask):
    warning = PlanWarning(path="spec", code=WarningCode.STATE_GROWS, message="m", repair="r")
    _, answer = ask(lambda _: AdmissionVerdict(warnings=(warning,) * 9, unknown_streams=("a",)))(REVIEW)
    assert answer["response"]["allowed"]
    assert answer["response"]["warnings"][:5] == ["spec: StateGrows: m; r"] * 5
    assert len(answer["response"]["warnings"]) == 6


def test_streams_that_were_not_judged_are_a_warning(ask):
    _, answer = ask(lambda _: AdmissionVerdict(unknown_streams=tuple("abcdefg")))(REVIEW)
    (warning,) = answer["response"]["warnings"]
    assert "the topics of a, b, c, d, e, ... exist" in warning


@pytest.mark.parametrize(
    "body, status, words",
    [
        (b"no JSON", 400, "this is no AdmissionReview"),
        ({**REVIEW, "apiVersion": "admission.k8s.io/v1beta1"}, 400, "admission.k8s.io/v1"),
        ({**REVIEW, "request": {"uid": "u"}}, 400, "namespace"),
        ({**REVIEW, "request": {**REVIEW["request"], "object": {"metadata": None}}}, 400, "no AdmissionReview"),
        ({**REVIEW, "request": {**REVIEW["request"], "object": {"metadata": {"finalizers": 3}}}}, 400, "this is no"),
        (b"", 413, "bytes"),
    ],
    ids=["no JSON", "an older version", "no app", "no metadata", "odd metadata", "nothing"],
)
def test_what_is_no_request_gets_an_http_error(ask, body, status, words):
    assert (answer := ask(lambda _: ADMITTED)(body))[0] == status
    assert words in answer[1]


@pytest.mark.parametrize("length, status", [(str((4 << 20) + 1), 413), ("many", 400), ("-1", 400), (30 * "9", 400)])
def test_a_request_of_more_bytes_than_two_apps_have_is_not_read(certificate, length, status):
    context = ssl.create_default_context(cadata=certificate.text)
    with serve_webhook(0, certificate.context, lambda _: ADMITTED) as server:
        connection = HTTPSConnection("localhost", server.port, context=context, timeout=30)
        connection.putrequest("POST", PATH)
        connection.putheader("Content-Length", length)
        connection.endheaders()
        assert connection.getresponse().status == status
        connection.close()


def test_connections_that_are_too_many_are_closed_and_others_answered_when_they_end(certificate):
    with serve_webhook(0, certificate.context, lambda _: ADMITTED) as server:
        silent = [socket.create_connection(("localhost", server.port)) for _ in range(40)]
        silent[-1].settimeout(30)
        assert silent[-1].recv(1) == b""
        for connection in silent:
            connection.close()

        def answered():
            try:
                return post(server, certificate.text, REVIEW)[0] == 200
            except OSError:
                return False

        assert eventually(answered)


def test_an_app_that_can_t_be_judged_gets_an_http_error_and_the_next_is_judged(ask):
    def judge(request):
        if request.uid == "u-1":
            raise RuntimeError("a bug")
        return ADMITTED

    send = ask(judge)
    assert send(REVIEW) == (500, "it can't be judged: RuntimeError('a bug')")
    assert send({**REVIEW, "request": {**REVIEW["request"], "uid": "u-2"}})[0] == 200


def test_two_apps_are_judged_at_a_time(ask):
    running, most, go = [], [], threading.Event()

    def judge(request):
        running.append(request)
        most.append(len(running))
        go.wait(60)
        running.pop()
        return ADMITTED

    send = ask(judge)
    threads = [threading.Thread(target=send, args=(REVIEW,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert eventually(lambda: len(running) == 2)
    go.set()
    for thread in threads:
        thread.join()
    assert max(most) == 2


def test_api_servers_trust_the_certificate_of_the_operator_and_a_lost_one_is_written_again():
    cluster = MemoryCluster()
    place = (Kind.VALIDATING_WEBHOOK, None, "ours")
    certificate = OwnCertificate(cluster, "ours", "localhost")
    certificate.refresh()
    cluster.objects[place] = {"metadata": {"name": "ours", "resourceVersion": "1"}}
    certificate.refresh()
    cluster.objects[place] = {"metadata": {"name": "ours", "resourceVersion": "1"}, "webhooks": [WEBHOOK]}
    certificate.refresh()
    (written,) = cluster.get(*place)["webhooks"]
    assert {**written, "clientConfig": WEBHOOK["clientConfig"]} == WEBHOOK
    assert written["clientConfig"].keys() == {"service", "caBundle"}
    certificate.refresh()
    assert cluster.writes["patch", Kind.VALIDATING_WEBHOOK] == 1
    cluster.patch(*place, {"webhooks": [WEBHOOK]})
    certificate.refresh()
    assert cluster.get(*place)["webhooks"] == [written]


def test_a_renewed_certificate_is_used_for_new_connections(tmp_path):
    def renew():
        certificate, key = write_certificate(tmp_path, "new", ["localhost"])
        key.rename(tmp_path / "tls.key")
        return certificate.rename(tmp_path / "tls.crt").read_text()

    first = renew()
    mounted = MountedCertificate(tmp_path)
    with serve_webhook(0, mounted.context, lambda _: ADMITTED) as server:
        assert post(server, first, REVIEW)[0] == 200
        second = renew()
        mounted.refresh()
        assert post(server, second, REVIEW)[0] == 200
        (tmp_path / "tls.key").write_text("of another one")
        with pytest.raises(OSError, match="SSL"):
            mounted.refresh()
        assert post(server, second, REVIEW)[0] == 200
        with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
            post(server, first, REVIEW)
