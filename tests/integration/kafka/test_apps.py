"""Whole apps on a real broker: exact results, undisturbed and killed."""

import json
import os
import signal
import subprocess
import uuid
from contextlib import closing
from random import Random

import pytest
from confluent_kafka import Producer

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import PlanRefused
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import BadRecord, StreamDescriptor
from support import apps, crashes, numbered, waiting
from support.kafka import cluster_at, committed, eventually, settled_ends

RUNS = max(4, int(os.environ.get("STREAMAPP_KILL_RUNS", "15")) // 4)
KILLS = 3
MARKERS = 2
"""Offsets that the last transactions of the two processors take beyond what is read."""


@pytest.fixture
def folder(tmp_path, kafka):
    """A folder with the numbered records' app, its records on the broker."""
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    numbered.lay_out(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}")
    return tmp_path


def test_records_go_through_two_shuffles_and_a_table_join_once_and_in_order(folder):
    summary = apps.run((folder / "app.yaml").read_text(), folder)
    numbered.check(folder)
    assert summary.written["out"] == numbered.RECORDS
    assert all(stream.ended == stream.partitions for stream in summary.streams)


def test_tools_see_how_far_a_run_is_and_consumed_records_are_deleted(folder, kafka):
    text = (folder / "app.yaml").read_text()
    name = json.loads(text)["metadata"]["name"]
    apps.run(text, folder)
    cluster = cluster_at(kafka.bootstrap_servers)
    topics = {f"{name}.in": numbered.PARTITIONS, f"default.{name}.r1.by-name": 5, f"default.{name}.r1.again": 5}
    streams = [
        StreamDescriptor(name=topic, system="kafka", address=topic, format=StreamFormat.ARROW) for topic in topics
    ]
    with closing(KafkaAdmin(cluster)) as admin:
        ends = settled_ends(admin, *streams)

        def at_the_ends():
            """Tell whether the last round of maintenance is through: on a slow machine the run does not wait for it."""
            places = committed(cluster, f"default.{name}").items()
            shown = {Ssp("kafka", topic, partition): offset for (topic, partition), offset in places}
            begin = {ssp: 0 if ssp.stream == f"{name}.in" else offset for ssp, offset in shown.items()}
            return admin.start_offsets(streams) == begin and all(0 <= ends[ssp] - shown[ssp] <= MARKERS for ssp in ends)

        assert waiting.eventually(at_the_ends)


def test_a_new_run_deletes_the_topics_of_the_one_before(folder, kafka):
    text = (folder / "app.yaml").read_text()
    name = json.loads(text)["metadata"]["name"]
    apps.run(text, folder, run_id="r1")
    apps.run(text, folder, run_id="r2")
    with closing(KafkaAdmin(cluster_at(kafka.bootstrap_servers))) as admin:
        streams = [
            StreamDescriptor(
                name=run, system="kafka", address=f"default.{name}.{run}.by-name", format=StreamFormat.ARROW
            )
            for run in ("r1", "r2")
        ]
        eventually(lambda: set(admin.partitions(streams)), {"r2"})


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_killed_at_random_moments_ends_with_the_same_results(folder, seed):
    random = Random(4_000 + seed)
    for _ in range(KILLS):
        process = crashes.start(folder, "--host", "in-process")
        try:
            process.wait(timeout=random.uniform(0.8, 3.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
        crashes.end(process)
    code, output = crashes.end(crashes.start(folder, "--host", "in-process"))
    assert code == 0, output
    numbered.check(folder)


def test_a_topic_that_does_not_exist_is_a_problem_with_its_path(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    document = numbered.app(system, name=f"app-{uuid.uuid4().hex[:8]}")
    (tmp_path / "names.csv").write_text("k,name\n")
    with pytest.raises(PlanRefused, match=r"spec\.streams\.in: StreamNotFound"):
        apps.run(document, tmp_path)


def test_a_record_that_does_not_fit_the_schema_is_named_with_its_place(folder, kafka):
    text = (folder / "app.yaml").read_text()
    name = json.loads(text)["metadata"]["name"]
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(f"{name}.in", '{"k": "five", "n": 0}', partition=2)
    producer.flush()
    with pytest.raises(BadRecord, match=r"hub\.in\[2\], offset \d+: .*k"):
        apps.run(text, folder)
