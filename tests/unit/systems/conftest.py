"""Logs for the tests of logs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamapp_systems.log import LogProducer
from support.logs import OTHER, OWNER, STREAM, create


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "log.db"
    create(path)
    return path


@pytest.fixture
def producer(path: Path) -> Iterator[LogProducer]:
    producer = LogProducer(path, [STREAM, OTHER], OWNER)
    yield producer
    producer.close()
