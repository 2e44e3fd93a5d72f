"""Which small files are worth joining."""

from math import log2
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from streamapp_systems.tables import LiveFile
from streamapp_systems.tables.small_files import FEWEST, MOST, choose_small_files

LARGEST = 1_000


def file_of(number: int, size: int, partition: str = "a") -> LiveFile:
    return LiveFile(
        path=str(number), place=Path(str(number)), partition=(("p", partition),), size=size, added=-number, entry=None
    )


files = st.lists(st.tuples(st.integers(1, LARGEST * 2), st.sampled_from("ab")), max_size=60).map(
    lambda found: [file_of(number, size, partition) for number, (size, partition) in enumerate(found)]
)


@given(files)
def test_groups_are_of_one_partition_and_worth_it(found) -> None:
    groups = choose_small_files(found, LARGEST)
    for group in groups:
        total = sum(file.size for file in group)
        assert len({file.partition for file in group}) == 1
        assert len(group) >= FEWEST
        assert 2 * max(file.size for file in group) <= total <= LARGEST
        assert [file.added for file in group] == sorted(file.added for file in group)
    assert len({file.path for group in groups for file in group}) == sum(map(len, groups))


@given(files)
def test_what_is_left_in_the_end_is_not_worth_it(found) -> None:
    left, number = list(found), 1_000
    while groups := choose_small_files(left, LARGEST):
        for group in groups:
            number += 1
            left = [file for file in left if file not in group]
            left.append(file_of(number, sum(file.size for file in group), group[0].partition[0][1]))
    assert sum(file.size for file in left) == sum(file.size for file in found)
    for partition in "ab":
        tiny = [f for f in left if f.partition[0][1] == partition and f.size <= LARGEST // (2 * FEWEST)]
        assert len(tiny) < 2 * FEWEST


@given(st.lists(st.integers(1, 40), min_size=1, max_size=400), st.integers(1, 60))
def test_a_row_is_written_again_as_often_as_the_logarithm_says(sizes, every) -> None:
    written: dict[int, int] = {}
    members: dict[str, list[int]] = {}
    left: list[LiveFile] = []
    for number, size in enumerate(sizes):
        left.append(file_of(number, size))
        members[str(number)] = [number]
        written[number] = 0
        while number % every == 0 and (groups := choose_small_files(left, LARGEST)):
            for group in groups:
                name = 10_000 + len(members)
                left = [file for file in left if file not in group]
                left.append(file_of(name, sum(file.size for file in group)))
                members[str(name)] = [row for file in group for row in members[file.path]]
                for row in members[str(name)]:
                    written[row] += 1
    assert max(written.values()) <= log2(LARGEST)


def test_a_commit_joins_so_many_files_at_most() -> None:
    found = [file_of(number, 1) for number in range(3 * MOST)]
    assert [len(group) for group in choose_small_files(found, 256 << 20)] == [MOST]


def test_partitions_are_joined_together_up_to_the_bytes_of_a_large_file() -> None:
    found = [file_of(10 * where + number, 60, "abcdef"[where]) for where in range(6) for number in range(5 + where)]
    assert [(group[0].partition[0][1], len(group)) for group in choose_small_files(found, LARGEST)] == [("f", 10)]
    tiny = [file_of(10 * where + number, 10, "abcdef"[where]) for where in range(6) for number in range(5 + where)]
    assert [len(group) for group in choose_small_files(tiny, LARGEST)] == [10, 9, 8, 7, 6, 5]
