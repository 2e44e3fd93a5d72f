"""Settings of Kafka clients: what users may set, what they may not, and how passwords come in without being shown."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from streamapp_core.spec.kafka_client_settings import CLIENTS_OF_SETTING, ClientKind, check_setting
from streamapp_core.spec.systems import KafkaAuth, KafkaSystem
from streamapp_systems.kafka.client_config import Cluster, cluster_of, local_cluster
from streamapp_systems.protocols import StreamSystemError, TransactionOwner
from streamapp_systems.secret_reader import SecretItems
from support.plan_documents import document, planned

AUTH = KafkaAuth(secretName="kafka-login", mechanism="SCRAM-SHA-512")
OWNER = TransactionOwner(id="run-0", epoch=1)


def cluster(config: dict[str, str] | None = None, auth: KafkaAuth | None = None, **environment: str) -> Cluster:
    return local_cluster("k", KafkaSystem(bootstrapServers="b:9092", config=config or {}, auth=auth), environment)


GUARANTEES = (
    "acks auto.offset.reset enable.auto.commit enable.idempotence enable.partition.eof isolation.level partitioner "
    "queue.buffering.max.kbytes transaction.timeout.ms transactional.id"
)


@pytest.mark.parametrize("key", GUARANTEES.split())
def test_settings_that_carry_the_guarantees_are_refused(key: str) -> None:
    with pytest.raises(ValidationError, match=f"{key}: the guarantees rest"):
        cluster({key: "1"})


@pytest.mark.parametrize("key", ["sasl.password", "sasl.username", "ssl.key.password", "ssl.key.pem"])
def test_secrets_do_not_belong_into_the_spec(key: str) -> None:
    with pytest.raises(ValidationError, match="name one as"):
        cluster({key: "hidden"})


@pytest.mark.parametrize("key", ["plugin.library.paths", "sasl.kerberos.kinit.cmd", "ssl.engine.location", "no.such"])
def test_all_else_that_is_not_known_to_be_harmless_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match=rf"{key}: not among the settings that are passed on"):
        cluster({key: "1"})


def test_the_planner_refuses_all_of_them_at_once_and_shows_no_values() -> None:
    config = {"acks": "1", "bootstrap.servers": "x", "client.id": "fine", "no.such": "1", "sasl.password": "hidden"}
    app = document(
        [{"name": "sent", "from": "in", "sendTo": "out"}],
        streams={"in": {"system": "k", "schema": "k int"}, "out": {"system": "k"}},
        systems={"k": {"kafka": {"bootstrapServers": "b:9092", "config": config}}},
        defaultSystem="k",
    )
    problems = planned(app, {"in": 1, "out": 1}).problems
    assert [(problem.code, problem.path.removeprefix("spec.systems.k.kafka.config.")) for problem in problems] == [
        ("InvalidSpec", key) for key in ("acks", "bootstrap.servers", "no.such", "sasl.password")
    ]
    assert not any("hidden" in problem.message for problem in problems)


def test_no_setting_that_is_ours_can_be_set() -> None:
    owned = {key for kind in ClientKind for key in cluster().client(kind, OWNER)}
    for key in owned - CLIENTS_OF_SETTING.keys():
        with pytest.raises(ValueError, match=f"{key}: "):
            check_setting(key)


def test_each_client_gets_the_settings_it_knows() -> None:
    found = cluster({"fetch.wait.max.ms": "99", "linger.ms": "7", "client.id": "me"})
    consumer, producer = found.client(ClientKind.CONSUMER), found.client(ClientKind.PRODUCER, OWNER)
    assert (consumer["fetch.wait.max.ms"], consumer["client.id"], "linger.ms" in consumer) == ("99", "me", False)
    assert (producer["linger.ms"], producer["client.id"], "fetch.wait.max.ms" in producer) == ("7", "me", False)
    assert found.client(ClientKind.ADMIN)["bootstrap.servers"] == "b:9092"


def test_what_carries_the_guarantees_is_always_set() -> None:
    consumer = cluster().client(ClientKind.CONSUMER)
    assert (consumer["isolation.level"], consumer["enable.auto.commit"]) == ("read_committed", "false")
    assert (consumer["auto.offset.reset"], consumer["enable.partition.eof"]) == ("error", "true")
    producer = cluster().client(ClientKind.PRODUCER, OWNER)
    assert (producer["transactional.id"], producer["transaction.timeout.ms"]) == ("run-0", "15000")


def test_a_login_is_read_from_the_files_of_its_secret(tmp_path: Path) -> None:
    secret = tmp_path / "kafka-login"
    secret.mkdir()
    (secret / "username").write_text("ann\n")
    (secret / "password").write_text(" with spaces \n")
    found = cluster(auth=AUTH, STREAMAPP_SECRETS=str(tmp_path)).client(ClientKind.ADMIN)
    assert (found["sasl.username"], found["sasl.password"]) == ("ann", " with spaces ")
    assert (found["sasl.mechanism"], found["security.protocol"]) == ("SCRAM-SHA-512", "SASL_SSL")


def test_environment_variables_win_over_files_and_the_protocol_can_be_set() -> None:
    found = cluster(
        {"security.protocol": "SASL_PLAINTEXT"},
        AUTH,
        STREAMAPP_SECRET_KAFKA_LOGIN_USERNAME="ann",
        STREAMAPP_SECRET_KAFKA_LOGIN_PASSWORD="s3cret",
    )
    assert found.client(ClientKind.ADMIN)["sasl.password"] == "s3cret"
    assert found.client(ClientKind.ADMIN)["security.protocol"] == "SASL_PLAINTEXT"
    assert "s3cret" not in f"{found} {found!r}"


def test_how_long_brokers_may_be_silent_can_be_said() -> None:
    assert cluster().timeout == 30
    assert cluster(STREAMAPP_KAFKA_TIMEOUT="2.5").timeout == 2.5
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        with pytest.raises(StreamSystemError, match=f"STREAMAPP_KAFKA_TIMEOUT: a number of seconds.* not '{wrong}'"):
            cluster(STREAMAPP_KAFKA_TIMEOUT=wrong)


def test_a_missing_secret_is_told_with_both_places_of_this_machine(tmp_path: Path) -> None:
    with pytest.raises(
        StreamSystemError, match=r"set STREAMAPP_SECRET_KAFKA_LOGIN_USERNAME, or write it to .*login/username$"
    ) as caught:
        cluster(auth=AUTH, STREAMAPP_SECRETS=str(tmp_path))
    assert str(caught.value).startswith("spec.systems.k.kafka.auth: secret kafka-login has no username")
    assert "kubectl" not in str(caught.value)


def test_a_secret_file_that_can_t_be_read_is_told_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "kafka-login" / "username").mkdir(parents=True)
    with pytest.raises(StreamSystemError, match=r"secret kafka-login: .*username can't be read \(Is a directory\)"):
        cluster(auth=AUTH, STREAMAPP_SECRETS=str(tmp_path))


CREATE = (
    "is not there. Create it with the keys username and password: kubectl create secret generic kafka-login "
    "--namespace demo --from-literal=username=... --from-file=password=..."
)
ADD = (
    "has no key {}. Add it: kubectl patch secret kafka-login --namespace demo --patch "
    """'{{"stringData": {{"{}": "..."}}}}'"""
)


def test_in_a_pod_a_key_that_is_missing_is_told_as_one_of_the_secret(tmp_path: Path) -> None:
    (tmp_path / "kafka-login").mkdir()
    (tmp_path / "kafka-login" / "username").write_text("ann")
    with pytest.raises(StreamSystemError) as caught:
        cluster(auth=AUTH, STREAMAPP_SECRETS=str(tmp_path), STREAMAPP_NAMESPACE="demo")
    wrong = ADD.format("password", "password")
    assert str(caught.value) == f"spec.systems.k.kafka.auth: Secret kafka-login in namespace demo {wrong}"


def secret_of(items: Mapping[str, str]) -> SecretItems:
    return SecretItems(namespace="demo", items={key: value.encode() for key, value in items.items()})


def read_by_the_operator(**items: str) -> Cluster:
    return cluster_of("k", KafkaSystem(bootstrapServers="b:9092", auth=AUTH), secret_of(items))


def test_credentials_that_the_operator_has_read_are_passed_as_a_value() -> None:
    found = read_by_the_operator(username="ann", password="s3cret")
    assert found.client(ClientKind.ADMIN)["sasl.password"] == "s3cret"
    assert "s3cret" not in f"{found!r} {secret_of({'password': 's3cret'})!r}"


@pytest.mark.parametrize(
    ("items", "wrong"),
    [
        ({}, CREATE),
        ({"username": "ann"}, ADD.format("password", "password")),
        ({"x": "y"}, ADD.format("username", "username")),
    ],
)
def test_the_operator_says_what_to_create_and_nothing_of_its_own_pod(items: dict[str, str], wrong: str) -> None:
    with pytest.raises(StreamSystemError) as caught:
        read_by_the_operator(**items)
    assert str(caught.value) == f"spec.systems.k.kafka.auth: Secret kafka-login in namespace demo {wrong}"
    assert "STREAMAPP_SECRET" not in str(caught.value)


CERTIFICATE = KafkaAuth(secretName="kafka-login")
PEMS = {"ca.crt": "authority", "tls.crt": "certificate", "tls.key": "key"}


def with_certificates(auth: KafkaAuth, items: Mapping[str, str], **config: str) -> dict[str, str]:
    system = KafkaSystem(bootstrapServers="b:9092", auth=auth, config=config)
    return cluster_of("k", system, secret_of(items)).client(ClientKind.ADMIN)


@pytest.mark.parametrize(
    "items",
    [PEMS, {"ssl.ca.pem": "authority", "ssl.certificate.pem": "certificate", "ssl.key.pem": "key"}],
)
def test_a_secret_without_a_mechanism_has_a_client_certificate(items: dict[str, str]) -> None:
    found = with_certificates(CERTIFICATE, items)
    assert (found["ssl.ca.pem"], found["ssl.certificate.pem"], found["ssl.key.pem"]) == tuple(PEMS.values())
    assert found["security.protocol"] == "SSL"
    assert not any(name.startswith("sasl.") for name in found)


def test_the_authority_of_a_secret_is_used_with_a_login_too_unless_the_spec_has_one() -> None:
    items = {"username": "ann", "password": "p", "ca.crt": "authority"}
    assert with_certificates(AUTH, items)["ssl.ca.pem"] == "authority"
    assert with_certificates(AUTH, items, **{"ssl.ca.pem": "mine"})["ssl.ca.pem"] == "mine"
    assert "ssl.ca.pem" not in with_certificates(AUTH, items, **{"ssl.ca.location": "/ca.pem"})


def test_a_client_certificate_is_read_from_mounted_files(tmp_path: Path) -> None:
    (tmp_path / "kafka-login").mkdir()
    for item, text in PEMS.items():
        (tmp_path / "kafka-login" / item).write_text(text)
    found = cluster(auth=CERTIFICATE, STREAMAPP_SECRETS=str(tmp_path)).client(ClientKind.ADMIN)
    assert (found["ssl.key.pem"], found["ssl.certificate.pem"]) == ("key", "certificate")
    assert "'key'" not in repr(cluster(auth=CERTIFICATE, STREAMAPP_SECRETS=str(tmp_path)))


@pytest.mark.parametrize(
    ("items", "wrong"),
    [
        ({}, "kubectl create secret tls kafka-login --namespace demo --cert=... --key=..."),
        ({"tls.crt": "certificate"}, "has no key tls.key. Add it"),
        ({"username": "ann", "password": "p"}, "has no key tls.crt. Add it"),
    ],
)
def test_a_client_certificate_that_is_missing_is_told(items: dict[str, str], wrong: str) -> None:
    with pytest.raises(StreamSystemError, match=r"spec\.systems\.k\.kafka\.auth has no mechanism") as caught:
        with_certificates(CERTIFICATE, items)
    assert wrong in str(caught.value)


@pytest.mark.parametrize("value", [b"\xff\xfe", b"a\0b"])
def test_a_binary_item_is_told_wherever_it_is_read(value: bytes, tmp_path: Path) -> None:
    system = KafkaSystem(bootstrapServers="b:9092", auth=AUTH)
    items = {"username": b"ann", "password": value}
    with pytest.raises(StreamSystemError, match="Secret kafka-login in namespace demo: password is no text, but bin"):
        cluster_of("k", system, SecretItems(namespace="demo", items=items))
    (tmp_path / "kafka-login").mkdir()
    for key, item in items.items():
        (tmp_path / "kafka-login" / key).write_bytes(item)
    with pytest.raises(StreamSystemError, match=r"secret kafka-login: .*/password: password is no text, but binary"):
        cluster(auth=AUTH, STREAMAPP_SECRETS=str(tmp_path))
