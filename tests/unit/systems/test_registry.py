"""Systems opened by their kind."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import FileSystem, KafkaSystem, LogSystem, SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import PartOwner, StagedPart, StreamDescriptor, StreamSystemError, TransactionOwner
from streamapp_systems.registry import local_systems

OWNER = TransactionOwner(id="run-0", epoch=1)
KAFKA = SystemSpec(kafka=KafkaSystem(bootstrapServers="127.0.0.1:1"))
LOG = SystemSpec(log=LogSystem(path="state/log.db"))
FILES = SystemSpec(file=FileSystem(path="data"))
PARTS = PartOwner(app="default.a", writer="1-1", opened=0)
STREAM = StreamDescriptor(name="s", system="x", address="s", format=StreamFormat.JSON)


def test_a_log_lies_below_the_base_folder(tmp_path: Path) -> None:
    admin = local_systems(tmp_path).open_admin("x", LOG)
    admin.create({STREAM: 1})
    producer = local_systems(tmp_path).open_producer("x", LOG, [STREAM], OWNER)
    producer.send(Ssp("x", "s", 0), b"1", timestamp=0)
    producer.commit()
    consumer = local_systems(tmp_path).open_consumer("x", LOG, [STREAM])
    consumer.assign({Ssp("x", "s", 0): 0}, {})
    assert [part.next_offset for part in consumer.poll([Ssp("x", "s", 0)], 10, 0)] == [1]
    assert (tmp_path / "state" / "log.db").exists()
    for each in (admin, producer, consumer):
        each.close()


def test_files_lie_below_the_base_folder(tmp_path: Path) -> None:
    (tmp_path / "data" / "s").mkdir(parents=True)
    (tmp_path / "data" / "s" / "1.json").write_text("{}\n")
    assert local_systems(tmp_path).open_admin("x", FILES).partitions([STREAM]) == {"s": 1}


def test_files_are_written_as_outputs(tmp_path: Path) -> None:
    local_systems(tmp_path).open_output("x", FILES, [STREAM], PARTS).close()
    with pytest.raises(StreamSystemError, match="system x holds files"):
        local_systems(tmp_path).open_producer("x", FILES, [STREAM], OWNER)
    with pytest.raises(StreamSystemError, match="system x is log"):
        local_systems(tmp_path).open_output("x", LOG, [STREAM], PARTS)


def test_files_are_rolled_by_the_time_and_size_of_their_system(tmp_path: Path) -> None:
    system = SystemSpec(file=FileSystem(path="data", commitEvery="5m", targetFileSize="1Ki"))
    output = local_systems(tmp_path).open_output("x", system, [STREAM], PARTS)
    assert output.publish_seconds == 300.0
    parts: list[StagedPart] = []
    for length, full in ((900, False), (200, True)):
        output.write("s", pa.table({"k": ["x" * length]}))
        parts += output.stage()
        assert bool(output.full(parts)) == full
    output.close()
    with pytest.raises(ValidationError, match="set `commitEvery`, too"):
        FileSystem(path="data", targetFileSize="1Ki")


@pytest.mark.parametrize("rolled", [{}, {"commitEvery": "5m"}])
def test_rows_of_a_writer_that_was_forgotten_stay_and_those_of_another_follow(tmp_path: Path, rolled) -> None:
    """A StreamApp that is created again has epochs from 1 on, and an edit may add an output that it had before."""
    system = SystemSpec(file=FileSystem(path="data", **rolled))
    for opened in (1, 2):
        output = local_systems(tmp_path).open_output("x", system, [STREAM], replace(PARTS, opened=opened))
        parts: list[StagedPart] = []
        for n in range(2):
            output.write("s", pa.table({"k": [f"{opened}-{n}"]}))
            parts += output.stage()
        output.publish(parts)
        output.close()
    lines = [line for path in (tmp_path / "data").rglob("part-*") for line in path.read_text().splitlines()]
    assert sorted(json.loads(line)["k"] for line in lines) == ["1-0", "1-1", "2-0", "2-1"]


def test_kafka_is_opened_with_the_settings_of_its_system(tmp_path: Path) -> None:
    wrong = SystemSpec(kafka=KafkaSystem(bootstrapServers="127.0.0.1:1", config={"socket.keepalive.enable": "perhaps"}))
    local_systems(tmp_path).open_admin("x", KAFKA).close()
    for refused in (
        lambda: local_systems(tmp_path).open_admin("x", wrong),
        lambda: local_systems(tmp_path).open_consumer("x", wrong, [STREAM]),
        lambda: local_systems(tmp_path).open_producer("x", wrong, [STREAM], OWNER),
    ):
        with pytest.raises(StreamSystemError, match=r"spec\.systems\.x\.kafka\.config"):
            refused()
    with pytest.raises(StreamSystemError, match="system x is kafka"):
        local_systems(tmp_path).open_output("x", KAFKA, [STREAM], PARTS)
