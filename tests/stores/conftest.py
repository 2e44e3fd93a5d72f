"""A server that speaks S3 and one of PostgreSQL for the whole run; each test has a bucket or database of its own."""

import itertools
import os

import pytest
from hypothesis import settings
from tools.cluster.cached import default_cache
from tools.kafka.jars import kafka_jars
from tools.machine import lacking
from tools.object_store.server import ObjectServer
from tools.postgresql import server_programs

from support.machine import need
from support.object_stores import bucket_at
from support.postgresql import PASSWORD, USER, PostgresServer
from support.repository import ROOT

os.environ.setdefault("STREAMAPP_CLASS_ARCHIVES", "")  # no Spark starts early but where a test is of that
# The same examples in every run, and no clock: the machine may be busy.
settings.register_profile("stores", derandomize=True, database=None, deadline=None)
settings.load_profile("stores")

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    """A server that all tests share: who stops it starts it again."""
    need(lacking()["stores"])
    with ObjectServer(default_cache()) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql():
    """A server that all tests share: who stops it starts it again."""
    need(lacking()["stores"])
    server = PostgresServer(server_programs())
    yield server
    server.close()


@pytest.fixture
def database(postgresql):
    """A database that is empty."""
    return postgresql.make_database(f"test_{next(_numbers)}")


@pytest.fixture
def jdbc_driver(tmp_path, monkeypatch):
    """PostgreSQL's driver on the class path of Spark, and the login of the secret `shop-login` in the environment."""
    need(lacking()["integration"])
    jars = kafka_jars(default_cache(), ROOT / "tools" / "jdbc" / "pom.xml").glob("*.jar")
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(f"spark.jars {','.join(map(str, jars))}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    monkeypatch.setenv("STREAMAPP_SECRET_SHOP_LOGIN_USERNAME", USER)
    monkeypatch.setenv("STREAMAPP_SECRET_SHOP_LOGIN_PASSWORD", PASSWORD)


@pytest.fixture(scope="session")
def shared(server):
    """A bucket for the examples of property tests, each in a folder of its own."""
    server.make_bucket("examples")
    return lambda: bucket_at(server.endpoint, "examples") / f"example-{next(_numbers)}"


@pytest.fixture
def bucket(server):
    """The root of a bucket that is empty."""
    name = f"bucket-{next(_numbers)}"
    server.make_bucket(name)
    return bucket_at(server.endpoint, name)
