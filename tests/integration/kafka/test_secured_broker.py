"""A broker that wants TLS and a login: whole apps run on it, and mistakes are told in seconds."""

import time
from contextlib import closing

import pytest
from tools.kafka.broker import Broker, Login
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import StreamSystemError
from support import apps, numbered, waiting
from support.kafka import PATIENT, Topics, cluster_at, committed

PASSWORD = "do-not-show"
LOGIN = {"sasl.mechanism": "PLAIN", "sasl.username": "ann", "sasl.password": PASSWORD}
RECORDS = 4_000


@pytest.fixture(scope="module")
def broker():
    login = Login(username="ann", password=PASSWORD)
    with Broker(kafka_jars(default_cache()), login=login, settings=PATIENT) as broker:
        yield broker


@pytest.fixture
def secret(tmp_path, monkeypatch):
    """The folder of the secret that the app names, as Kubernetes mounts it."""
    secret = tmp_path / "secrets" / "kafka-login"
    secret.mkdir(parents=True)
    (secret / "username").write_text("ann")
    (secret / "password").write_text(PASSWORD)
    monkeypatch.setenv("STREAMAPP_SECRETS", str(tmp_path / "secrets"))
    monkeypatch.setenv("STREAMAPP_KAFKA_TIMEOUT", "6")
    return secret


def system_of(broker, **kafka):
    form = {
        "bootstrapServers": broker.secured_servers,
        "config": {"ssl.ca.pem": broker.certificate.read_text()},
        "auth": {"secretName": "kafka-login", "mechanism": "SCRAM-SHA-512"},
    }
    return {"kafka": {key: value for key, value in (form | kafka).items() if value is not None}}


def test_a_whole_app_runs_with_tls_and_a_login(tmp_path, broker, secret, monkeypatch):
    monkeypatch.delenv("STREAMAPP_KAFKA_TIMEOUT")
    numbered.lay_out(tmp_path, system_of(broker), "secured", records=RECORDS)
    summary = apps.run((tmp_path / "app.yaml").read_text(), tmp_path)
    numbered.check(tmp_path, RECORDS)
    assert summary.incidents == ()
    assert waiting.eventually(lambda: committed(cluster_at(broker.bootstrap_servers), "default.secured"))


def test_a_login_without_scram_is_one_too(broker):
    tls = {"security.protocol": "SASL_SSL", "ssl.ca.location": str(broker.certificate)}
    cluster = cluster_at(broker.secured_servers, **tls, **LOGIN)
    with closing(KafkaAdmin(cluster)) as admin:
        assert admin.partitions([Topics(cluster, "plain").stream()]) == {}


WRONG = {
    "password": ({}, r"invalid credentials.* Check auth \(the username and the password in its secret"),
    "mechanism": (
        {"auth": {"secretName": "kafka-login", "mechanism": "SCRAM-SHA-256"}},
        r"broker's supported mechanisms: .*PLAIN.* Check auth .*mechanism\)",
    ),
    "authority": ({"config": {}}, r"certificate verify failed.* Check the certificates: ssl\.ca\.pem"),
    "protocol": ({"config": {}, "auth": None}, r"Check .*security\.protocol: .* where brokers want TLS or a login"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_keeps_an_app_out_is_told_within_seconds(tmp_path, broker, secret, what):
    kafka, reason = WRONG[what]
    if what == "password":
        (secret / "password").write_text("not it")
    started = time.monotonic()
    with pytest.raises(StreamSystemError, match=rf"(?s)Kafka hub \({broker.secured_servers}\): .*{reason}") as caught:
        apps.run(numbered.app(system_of(broker, **kafka)), tmp_path)
    assert time.monotonic() - started < 100
    assert "not it" not in str(caught.value)
