"""Who may commit to an embedded log: of the producers with one id, the last one, and none that was fenced."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import Fenced, TransactionOwner
from support.logs import FIRST, OTHER, OWNER, STREAM, values


def test_a_later_epoch_shuts_an_earlier_one_out(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"too late", timestamp=0)
    successor = LogProducer(path, [STREAM, OTHER], TransactionOwner(id=OWNER.id, epoch=2))
    with pytest.raises(Fenced, match="run-0: epoch 2 has taken over from epoch 1"):
        producer.commit()
    successor.send(FIRST, b"mine", timestamp=0)
    successor.commit()
    with pytest.raises(Fenced):
        LogProducer(path, [STREAM], OWNER)
    successor.close()
    assert values(path, FIRST) == [b"mine"]


def test_within_an_epoch_the_last_one_that_opened_may_commit(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"too late", timestamp=0)
    successor = LogProducer(path, [STREAM, OTHER], OWNER)
    with pytest.raises(Fenced, match="run-0: a later producer of epoch 1 has taken over"):
        producer.commit()
    successor.send(FIRST, b"mine", timestamp=0)
    successor.commit()
    admin = LogAdmin(path)
    admin.fence([OWNER])
    admin.close()
    successor.send(FIRST, b"fenced", timestamp=0)
    with pytest.raises(Fenced):
        successor.commit()
    successor.close()
    assert values(path, FIRST) == [b"mine"]


def test_a_log_of_the_first_version_is_upgraded_with_its_fences(path: Path, producer: LogProducer) -> None:
    producer.close()
    older = sqlite3.connect(path)
    older.execute("ALTER TABLE fences DROP COLUMN turn")
    older.execute("UPDATE fences SET epoch = 7")
    older.execute("PRAGMA user_version = 1")
    older.commit()
    older.close()
    with pytest.raises(Fenced, match="epoch 7 has taken over"):
        LogProducer(path, [STREAM], OWNER)
    with closing(LogProducer(path, [STREAM], TransactionOwner(id=OWNER.id, epoch=7))) as successor:
        successor.send(FIRST, b"mine", timestamp=0)
        successor.commit()
    assert values(path, FIRST) == [b"mine"]


def test_a_fence_is_for_its_ids_only(path: Path, producer: LogProducer) -> None:
    admin = LogAdmin(path)
    admin.fence([TransactionOwner(id="run-1", epoch=7)])
    producer.send(FIRST, b"undisturbed", timestamp=0)
    producer.commit()
    admin.fence([TransactionOwner(id=OWNER.id, epoch=2), TransactionOwner(id="run-1", epoch=7)])
    with pytest.raises(Fenced):
        admin.fence([TransactionOwner(id="new", epoch=1), TransactionOwner(id="run-1", epoch=6)])
    producer.send(FIRST, b"fenced", timestamp=0)
    with pytest.raises(Fenced):
        producer.commit()
    admin.close()
