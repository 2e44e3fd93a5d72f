"""A node that dies right after it acknowledged a commit may forget the markers of that transaction: nothing is lost."""

import shutil
from contextlib import closing

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import Drained, ProcessorFailed
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import TransactionOwner
from support import apps, numbered
from support.kafka import cluster_at
from support.kafka_markers import cut_last_marker

RECORDS = 4_000


@pytest.fixture
def broker():
    with Broker(kafka_jars(default_cache())) as broker:
        yield broker


@pytest.fixture
def stopped(tmp_path, broker):
    """An app that was drained; the broker has forgotten how the last transactions in its changelog ended.

    They have ended for its coordinator, too: who takes over an id waits for that.
    """
    numbered.lay_out(
        tmp_path, {"kafka": {"bootstrapServers": broker.bootstrap_servers}}, records=RECORDS, bounded=False
    )
    with pytest.raises(Drained):
        run(tmp_path, lambda: len(numbered.results(tmp_path)["out"]) >= RECORDS)
    with closing(KafkaAdmin(cluster_at(broker.bootstrap_servers))) as admin:
        admin.fence([TransactionOwner(id=f"default.app.r1.{processor}", epoch=1) for processor in range(2)])
    broker.kill()
    logs = list(broker.data.glob("*_changelog-*/*.log"))
    assert len(logs) > 1
    for log in logs:
        cut_last_marker(log)
    broker.start()
    assert all(end < written for end, written in offsets(broker))
    return tmp_path


def run(folder, drain, **options):
    return apps.run((folder / "app.yaml").read_text(), folder, fresh=False, run_id="r1", drain=drain, **options)


def offsets(broker):
    """Give how much can be read of each partition of the changelog, and how much was written."""
    cluster = cluster_at(broker.bootstrap_servers)
    with closing(KafkaAdmin(cluster)) as admin:
        (topic,) = (name for name in admin.beginning_with("default.app.") if name.endswith("_changelog"))
        stream = numbered.stream_of("default.app", "r1._changelog")
        assert stream.address == topic
        ends, written = admin.end_offsets([stream]), admin.written_offsets([stream])
    return [(ends[ssp], written[ssp]) for ssp in written]


def test_stores_that_have_what_was_written_prove_that_it_was_committed(stopped, broker):
    with pytest.raises(Drained):
        run(stopped, lambda: all(end == written for end, written in offsets(broker)))
    numbered.check(stopped, RECORDS)


def test_without_stores_a_run_does_not_go_on_from_an_older_state(stopped):
    shutil.rmtree(stopped / ".streamapp" / "app" / "state")
    reason = r"a hanging transaction begins at offset \d+.* start a new run id"
    with pytest.raises(ProcessorFailed, match=reason):
        run(stopped, lambda: False, timeouts=Timeouts(failures=1))
