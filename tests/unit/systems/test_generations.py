"""Generations of staged files: each exists as a whole or not at all, and its rows are found once, at their offsets."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderAdmin, Generation, Generations, StagedFile, growing_generations
from streamapp_systems.folder.generations import new_folder_name, stream_folder, superseded_folders
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from support.growing_streams import read_growing

STREAM = StreamDescriptor(
    name="s", system="land", address="public.t", format=StreamFormat.JSON, schema=parse_schema("k int")
)
PARTITIONS = 2
RACES = st.lists(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=3), min_size=1, max_size=5)
"""Of each generation the attempts: how many rows each has for every partition, and whether its driver dies."""


def staged(root: Path, number: int, rows: dict[int, list[int]], source: str | None = None) -> Generation:
    """Write the files of an attempt at a generation."""
    name = new_folder_name(number)
    folder = stream_folder(root, STREAM.address) / name
    folder.mkdir(parents=True)
    files = []
    for partition, values in rows.items():
        path = folder / f"part-{partition:05}.parquet"
        pq.write_table(pa.table({"k": pa.array(values, pa.int32())}), path)
        size = path.stat().st_size
        files.append(StagedFile(name=path.name, partition=partition, records=len(values), size=size))
    return Generation(number=number, source=source or name, folder=name, partitions=PARTITIONS, files=tuple(files))


def opened(root: Path) -> Generations:
    return Generations(stream_folder(root, STREAM.address))


def admin(root: Path) -> FolderAdmin:
    return FolderAdmin(growing_generations(root, root / "journals"))


def read(root: Path, *starts: int) -> dict[Ssp, list[object]]:
    """Read partitions from offsets on."""
    positions = {Ssp("land", "s", partition): start for partition, start in enumerate(starts)}
    found = read_growing(growing_generations(root, root / "journals"), STREAM, positions, 3)
    return {ssp: [row["k"] for row in rows] for ssp, rows in found.items()}


@settings(max_examples=30, deadline=None)
@given(RACES)
def test_of_attempts_at_a_generation_one_counts_and_its_rows_are_found_once(races) -> None:
    with TemporaryDirectory() as folder:
        root, generations, counter = Path(folder), opened(Path(folder)), iter(range(10_000))
        admin(root).create({STREAM: PARTITIONS})
        expected: dict[int, list[int]] = {0: [], 1: []}
        number, source = 1, None
        for attempts in races:
            made = [
                (staged(root, number, {p: [next(counter) for _ in range(size)] for p in expected}, source), dies)
                for size, dies in attempts
            ]
            for generation, dies in made:
                won = not dies and generations.publish(generation)
                if not won:
                    continue
                assert generations.get(number) == generations.last() == generation
                for file in generation.files:
                    path = generations.folder / generation.folder / file.name
                    expected[file.partition] += pq.read_table(path).column("k").to_pylist()
                generations.remove_superseded(generation)
                number, source = number + 1, generation.source
                break
            ends = admin(root).end_offsets([STREAM])
            assert [ends[Ssp("land", "s", p)] for p in expected] == [len(rows) for rows in expected.values()]
        assert read(root, 0, 0) == {Ssp("land", "s", p): rows for p, rows in expected.items()}
        starts = [len(rows) // 2 for rows in expected.values()]
        assert read(root, *starts) == {Ssp("land", "s", p): expected[p][start:] for p, start in enumerate(starts)}


def test_two_who_make_a_generation_at_once_agree_on_one(tmp_path: Path) -> None:
    first, second = staged(tmp_path, 1, {0: [1]}), staged(tmp_path, 1, {0: [2]})
    generations = opened(tmp_path)
    assert [generations.publish(first), generations.publish(second)] == [True, False]
    assert opened(tmp_path).last() == first
    assert not [name for name in generations.names() if name.endswith(".tmp")]
    generations.remove_superseded(first)
    assert sorted(generations.names()) == sorted(["generation-000000001.json", first.folder])


def test_attempts_at_a_generation_that_does_not_exist_yet_stay() -> None:
    old, new, other = new_folder_name(1), new_folder_name(2), new_folder_name(1)
    kept = [Generation(number=1, source=old, folder=old, partitions=1, files=())]
    names = [old, new, other, "generation-000000001.json", "something"]
    assert list(superseded_folders(names, kept)) == [other]


def test_a_folder_that_was_staged_anew_is_another_one(tmp_path: Path) -> None:
    admin(tmp_path).create({STREAM: PARTITIONS})
    opened(tmp_path).publish(staged(tmp_path, 1, {0: [1, 2]}))
    assert sum(admin(tmp_path).end_offsets([STREAM]).values()) == 2
    (opened(tmp_path).folder / "generation-000000001.json").unlink()
    with pytest.raises(StreamSystemError, match=r"stream s: .*t\.staged has not the generations that journal"):
        admin(tmp_path).end_offsets([STREAM])
    opened(tmp_path).publish(staged(tmp_path, 1, {0: [3]}))
    with pytest.raises(StreamSystemError, match="they were removed, or staged anew"):
        admin(tmp_path).end_offsets([STREAM])


def test_generations_of_other_partitions_are_refused(tmp_path: Path) -> None:
    admin(tmp_path).create({STREAM: 3})
    opened(tmp_path).publish(staged(tmp_path, 1, {0: [1]}))
    with pytest.raises(StreamSystemError, match=r"was staged for 2 partitions, and journal .* has 3: set `partitions`"):
        admin(tmp_path).end_offsets([STREAM])


def test_a_manifest_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    generations = opened(tmp_path)
    assert generations.last() is None
    generations.publish(staged(tmp_path, 1, {0: [1]}))
    path = generations.folder / "generation-000000001.json"
    path.write_bytes(b"{")
    with pytest.raises(StreamSystemError, match=re.escape(f"{path} can't be read")):
        generations.last()
