"""Bounded reading of several files: ends, fairness, failures."""

from pathlib import Path

import pytest

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.file import FileAdmin, FileConsumer
from streamapp_systems.file.consumer import MAXIMUM_OPEN_FILES
from streamapp_systems.protocols import BadRecord, StreamDescriptor, StreamSystemError

STREAM = StreamDescriptor(name="s", system="files", address="in", format=StreamFormat.CSV, schema=parse_schema("k int"))


def ssp(partition: int) -> Ssp:
    return Ssp("files", "s", partition)


def write(root: Path, *files: list[object]) -> None:
    (root / "in").mkdir(exist_ok=True)
    for number, values in enumerate(files):
        (root / "in" / f"{number}.csv").write_text("".join(f"{value}\n" for value in ["k", *values]))


def opened(root: Path, starts: dict[Ssp, int] | None = None, ends: dict[Ssp, int] | None = None) -> FileConsumer:
    found = FileAdmin(root).end_offsets([STREAM])
    consumer = FileConsumer(root, [STREAM])
    consumer.assign(starts or dict.fromkeys(found, 0), found if ends is None else ends)
    return consumer


def read_all(consumer: FileConsumer, ssps: list[Ssp], max_rows: int) -> dict[Ssp, list[object]]:
    values: dict[Ssp, list[object]] = {ssp: [] for ssp in ssps}
    while fetched := consumer.poll(ssps, max_rows, 0):
        assert sum(part.next_offset - part.offset for part in fetched) <= max_rows
        for part in fetched:
            assert part.offset == len(values[part.ssp])
            values[part.ssp] += part.rows["k"].to_pylist() if part.rows is not None else []
            assert part.next_offset == len(values[part.ssp])
    return values


def test_reading_stops_exactly_at_the_end_and_says_so_once(tmp_path: Path) -> None:
    write(tmp_path, [1, 2, 3, 4])
    consumer = opened(tmp_path, {ssp(0): 1}, {ssp(0): 3})
    first, last = (consumer.poll([ssp(0)], 1, 0)[0] for _ in range(2))
    assert (first.offset, first.next_offset, first.rows.to_pylist(), first.ended) == (1, 2, [{"k": 2}], False)
    assert (last.offset, last.next_offset, last.rows.to_pylist(), last.ended) == (2, 3, [{"k": 3}], True)
    assert consumer.poll([ssp(0)], 1, 60) == []


def test_a_partition_without_rows_left_ends_at_the_first_poll(tmp_path: Path) -> None:
    write(tmp_path, [], [1])
    consumer = opened(tmp_path, {ssp(0): 0, ssp(1): 1})
    fetched = consumer.poll([ssp(0), ssp(1)], 10, 0)
    assert [(part.ssp, part.offset, part.next_offset, part.rows, part.ended) for part in fetched] == [
        (ssp(0), 0, 0, None, True),
        (ssp(1), 1, 1, None, True),
    ]


def test_a_partition_without_end_is_read_to_the_end_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, [1, 2])
    consumer = opened(tmp_path, ends={})
    (part,) = consumer.poll([ssp(0)], 10, 0)
    assert (part.rows.num_rows, part.ended) == (2, False)
    assert consumer.poll([ssp(0)], 10, 60) == []


def test_every_file_gets_its_share_of_a_poll(tmp_path: Path) -> None:
    write(tmp_path, *(list(range(5_000)) for _ in range(3)))
    consumer = opened(tmp_path)
    fetched = consumer.poll([ssp(0), ssp(1), ssp(2)], 6_000, 0)
    assert [(part.ssp, part.rows.num_rows) for part in fetched] == [(ssp(n), 2_000) for n in range(3)]


def test_files_that_got_nothing_come_first_in_the_next_poll(tmp_path: Path) -> None:
    write(tmp_path, [1, 2], [3, 4], [5, 6])
    consumer = opened(tmp_path)
    order = [consumer.poll([ssp(0), ssp(1), ssp(2)], 1, 0)[0].rows["k"].to_pylist() for _ in range(6)]
    assert order == [[1], [3], [5], [2], [4], [6]]


def test_only_the_partitions_asked_for_are_read(tmp_path: Path) -> None:
    write(tmp_path, [1], [2])
    consumer = opened(tmp_path)
    assert [part.ssp for part in consumer.poll([ssp(1)], 10, 0)] == [ssp(1)]
    assert [part.ssp for part in consumer.poll([ssp(0), ssp(1)], 10, 0)] == [ssp(0)]


def test_more_files_than_may_be_open_are_all_read(tmp_path: Path) -> None:
    files = [[number, number + 1] for number in range(2 * MAXIMUM_OPEN_FILES + 1)]
    write(tmp_path, *files)
    ssps = [ssp(number) for number in range(len(files))]
    assert read_all(opened(tmp_path), ssps, 1) == dict(zip(ssps, files, strict=True))


def test_a_bad_record_is_raised_alone_and_passed(tmp_path: Path) -> None:
    write(tmp_path, [1, "x", 3], ["y"])
    consumer = opened(tmp_path)
    both = [ssp(0), ssp(1)]
    (part,) = consumer.poll(both, 10, 0)
    assert part.rows.to_pylist() == [{"k": 1}]
    with pytest.raises(BadRecord, match="column k: 'y' is no int") as of_second:
        consumer.poll(both, 10, 0)
    with pytest.raises(BadRecord, match="column k: 'x' is no int") as of_first:
        consumer.poll([ssp(0)], 10, 0)
    assert [(error.value.ssp, error.value.offset) for error in (of_first, of_second)] == [(ssp(0), 1), (ssp(1), 0)]
    rest = {part.ssp: part for part in consumer.poll(both, 10, 0)}
    assert (rest[ssp(0)].offset, rest[ssp(0)].rows.to_pylist(), rest[ssp(0)].ended) == (2, [{"k": 3}], True)
    assert (rest[ssp(1)].offset, rest[ssp(1)].rows, rest[ssp(1)].ended) == (1, None, True)


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, [1, 2])
    consumer = opened(tmp_path, ends={ssp(0): 3})
    with pytest.raises(StreamSystemError, match="has 2 records now, it had 3"):
        consumer.poll([ssp(0)], 10, 0)


def test_a_partition_whose_file_is_gone_is_refused(tmp_path: Path) -> None:
    write(tmp_path, [1])
    with pytest.raises(StreamSystemError, match=r"files\.s\[1\]: there are 1 files at .*in\."):
        opened(tmp_path, {ssp(1): 0})


def test_files_of_many_blocks_are_read_whole(tmp_path: Path) -> None:
    values: list[object] = [*range(100_000)]
    write(tmp_path, values)
    assert read_all(opened(tmp_path), [ssp(0)], 30_000) == {ssp(0): values}
