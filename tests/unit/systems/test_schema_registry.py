"""The client of a schema registry, against a small one over HTTP: what it answers, and what it refuses."""

import pytest

from streamapp_core.spec.systems import KafkaSystem, SchemaRegistry, SystemSpec
from streamapp_systems.http_server import Response
from streamapp_systems.kafka import RegisteredSchema
from streamapp_systems.protocols import StreamSystemError, Unavailable
from streamapp_systems.registry import LocalSystems
from support.schema_registry import stub_registry

INT, LONG = '"int"', '"long"'


def avro(text):
    return RegisteredSchema(text=text, kind="AVRO")


LOGIN = {"STREAMAPP_SECRET_LOGIN_USERNAME": "ann", "STREAMAPP_SECRET_LOGIN_PASSWORD": "pass"}


@pytest.fixture
def registry():
    with stub_registry() as found:
        yield found


def client_of(registry, folder, *, secret=None, environment=None):
    declared = SchemaRegistry(url=registry.url, secretName=secret)
    system = SystemSpec(kafka=KafkaSystem(bootstrapServers="k:1", schemaRegistry=declared))
    systems = LocalSystems(folder=folder, environment={"STREAMAPP_SECRETS": str(folder), **(environment or {})})
    return systems.open_schema_registry("hub", system, timeout=20)


def test_schemas_are_registered_once_and_found_by_id_and_subject(registry, tmp_path):
    client = client_of(registry, tmp_path)
    assert (client.versions("a/b-value"), client.id_of("a/b-value", avro(INT)), client.schema(1)) == ((), None, None)
    assert [client.register("a/b-value", avro(schema)) for schema in (INT, LONG, INT)] == [1, 2, 1]
    assert (client.versions("a/b-value"), client.id_of("a/b-value", avro(LONG))) == ((1, 2), 2)
    assert client.schema(2) == client.version("a/b-value", 2)
    assert client.schema(2) == avro(LONG)


def test_schemas_come_with_those_they_refer_to(registry, tmp_path):
    registry.add("inner", INT)
    registry.add("middle", LONG, references=[{"name": "i", "subject": "inner", "version": 1}])
    number = registry.add("outer", '"bytes"', references=[{"name": "m", "subject": "middle", "version": 1}])
    found = client_of(registry, tmp_path).schema(number)
    assert (found.text, found.references) == ('"bytes"', (("i", INT), ("m", LONG)))


def test_the_kind_of_a_schema_is_said_where_it_is_not_avro(registry, tmp_path):
    client, proto = client_of(registry, tmp_path), RegisteredSchema(text='syntax = "proto3";', kind="PROTOBUF")
    assert client.register("s", proto) == 1
    assert registry.schemas == [{"schema": proto.text, "schemaType": "PROTOBUF"}]
    assert (client.schema(1), client.id_of("s", proto), client.id_of("s", avro(proto.text))) == (proto, 1, None)


def test_compatibility_is_judged_by_the_registry(registry, tmp_path):
    client = client_of(registry, tmp_path)
    registry.refusal = "READER_FIELD_MISSING_DEFAULT_VALUE"
    assert client.incompatibility("s", avro(INT)) is None
    registry.add("s", LONG)
    assert client.incompatibility("s", avro(INT)) == "READER_FIELD_MISSING_DEFAULT_VALUE"


def test_the_secret_has_the_login(registry, tmp_path):
    registry.login = "ann:pass"
    assert client_of(registry, tmp_path, secret="login", environment=LOGIN).versions("s") == ()
    with pytest.raises(StreamSystemError, match=r"refuses the login .401.: who are you\?.*schemaRegistry.secretName"):
        client_of(registry, tmp_path).versions("s")
    with pytest.raises(StreamSystemError, match=r"spec\.systems\.hub\.kafka\.schemaRegistry: .*no username"):
        client_of(registry, tmp_path, secret="login")
    wrong = {"STREAMAPP_SECRET_LOGIN_CA_CRT": "no certificate"}
    with pytest.raises(StreamSystemError, match="is no certificate"):
        client_of(registry, tmp_path, secret="login", environment=wrong)


@pytest.mark.parametrize(
    "answer, error, reason",
    [
        (Response(500, b"{}"), Unavailable, "can't answer"),
        (Response(429, b'{"message": "slowly"}'), Unavailable, "slowly"),
        (Response(409, b'{"message": "too new"}'), StreamSystemError, "not compatible with those before it: too new"),
        (Response(422, b'{"message": "odd"}'), StreamSystemError, "refuses the request .422.: odd"),
        (Response(200, b"<html>"), StreamSystemError, "not understood"),
        (Response(200, b"[]"), StreamSystemError, "not understood"),
    ],
)
def test_what_goes_wrong_is_told(registry, tmp_path, answer, error, reason):
    registry.broken = answer
    with pytest.raises(error, match=reason):
        client_of(registry, tmp_path).register("s", avro(INT))


def test_a_registry_that_is_away_is_waited_for(tmp_path):
    with stub_registry() as registry:
        client = client_of(registry, tmp_path)
    with pytest.raises(Unavailable, match="does not answer"):
        client.versions("s")


def test_a_system_without_a_registry_has_none(tmp_path):
    system = SystemSpec(kafka=KafkaSystem(bootstrapServers="k:1"))
    with pytest.raises(StreamSystemError, match=r"spec\.systems\.hub\.kafka"):
        LocalSystems(folder=tmp_path, environment={}).open_schema_registry("hub", system)
