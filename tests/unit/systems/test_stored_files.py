"""The objects of a stream are those that would be its files, and looks at them are as rare as they are costly."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamapp_systems.file.partition_files import partition_files
from streamapp_systems.file.stored_files import is_pattern, stored_files
from streamapp_systems.folder import GrowingFolder
from streamapp_systems.folder.look_thread import LookThread
from streamapp_systems.objects import ObjectPath
from support.growing_folders import CSV, created
from support.listed_bucket import ListedBucket
from support.waiting import eventually

PARTS = st.sampled_from(["a", "b1", "_c", ".d", "day=1", "x.csv", "y.csv.gz", "_z.csv", "10.csv", "9.csv"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
PATTERN_PARTS = st.sampled_from(["**", "*", "a", "?", "b[0-9]", "*.csv", "x.*", "_c", "day=*"])
PATTERNS = st.lists(PATTERN_PARTS, min_size=1, max_size=4).map("/".join).filter(is_pattern)


def listed(*keys: str) -> ObjectPath:
    return ObjectPath(ListedBucket(keys), "root")


@settings(max_examples=200)
@given(
    names=st.lists(NAMES, max_size=8, unique=True),
    address=st.one_of(PATTERNS, st.sampled_from(["a", "b1"])),
    columns=st.sampled_from([(), ("day",)]),
)
def test_objects_are_those_that_files_of_a_folder_would_be(names, address, columns):
    stream = replace(CSV, address=address, folder_columns=columns)
    assume(address not in names)  # a stream of one object is refused
    kept = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for name in kept:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        expected = [str(path.relative_to(root)) for path in partition_files(root, stream)]
    place = listed(*(f"root/{name}" for name in kept), "rooted/a/x.csv", "a/x.csv")
    found, _ = stored_files(place, stream)
    assert [path.relative_to(place) for path in found] == expected


def test_only_the_folder_that_a_pattern_begins_with_is_listed():
    place = listed("root/in/2024/1.csv", "root/in/2025/1.csv", "root/other/1.csv")
    found, count = stored_files(place, replace(CSV, address="in/2024/*.csv"))
    assert ([path.key for path in found], count) == (["root/in/2024/1.csv"], 1)
    assert stored_files(place, replace(CSV, address="in"))[1] == 2


def test_an_object_of_the_same_second_and_size_has_another_time():
    written = {"path": "k", "size": 1, "last_modified": datetime(2024, 5, 1, tzinfo=UTC), "version": None}
    first, second = (ListedBucket.stat(written | {"e_tag": tag}) for tag in ('"a"', '"b"'))
    assert first.st_mtime_ns != second.st_mtime_ns
    assert first.st_mtime_ns // 10**9 == second.st_mtime_ns // 10**9 == 1_714_521_600


@pytest.mark.parametrize(("pause", "due"), [(0.0, 1.0), (50.0, 50.0)])
def test_the_next_look_waits_for_what_one_costs(tmp_path, pause, due):
    created(tmp_path, CSV, 1)
    files, seconds = GrowingFolder(tmp_path, tmp_path / "_streamapp", CSV), [100.0]
    files._requests = pause
    looks = LookThread({"s": (files, frozenset({0}))}, clock=lambda: seconds[0])
    looks.step()
    assert eventually(looks.step)
    seconds[0] += due - 0.1
    looks.step()
    assert looks.done == 1
    seconds[0] += 0.2
    looks.step()
    assert eventually(looks.step)
    assert looks.done == 2
    looks.close()
