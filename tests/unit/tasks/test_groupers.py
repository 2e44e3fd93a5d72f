"""The partitions of each task, whatever happens to the streams."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.problems import ProblemCode
from streamapp_core.spec.job import Grouper
from streamapp_core.ssp import Ssp
from streamapp_core.tasks import (
    MODULO,
    CheckedAlgorithm,
    ExpansionError,
    GroupedStream,
    PreviousGrouping,
    StreamHistory,
    group_partitions,
    natural_key,
)

GROUPERS = st.sampled_from([Grouper.PARTITION, Grouper.STREAM_PARTITION])
COUNTS = st.dictionaries(st.sampled_from(["a", "a1", "b2", "b10"]), st.integers(0, 12), min_size=1)


def kafka(counts, *broadcast):
    return {
        name: GroupedStream(system="kafka", partitions=count, broadcast=name in broadcast)
        for name, count in counts.items()
    }


def model_of(grouping, counts, initial):
    return PreviousGrouping(
        tasks=grouping.tasks,
        streams={name: StreamHistory(initial=initial[name], partitions=count) for name, count in counts.items()},
        changelog=grouping.changelog,
    )


class Tree:
    """Splits partitions: each new one takes keys from an older one, as drawn; any growth is accepted."""

    def __init__(self, splits):
        self.splits = splits

    def accepts(self, *_counts):
        return True

    def get_partition_before_expansion(self, current_partition, _current_count, initial_count):
        while current_partition >= initial_count:
            current_partition = self.older(current_partition)
        return current_partition

    def older(self, partition):
        return self.splits[partition % len(self.splits)] % partition

    def possible_partitions(self, partition, initial_count):
        """All partitions that a key which is in `partition` now has been in."""
        found = {partition}
        while partition >= initial_count:
            partition = self.older(partition)
            found.add(partition)
        return found


def grow(counts, algorithm, grouper=Grouper.PARTITION):
    """Group a stream that grows through these counts, step by step."""
    grouping = group_partitions(grouper, kafka({"a": counts[0]}), stateful=True)
    for before, now in pairwise(counts):
        previous = model_of(grouping, {"a": before}, {"a": counts[0]})
        grouping = group_partitions(grouper, kafka({"a": now}), stateful=True, algorithm=algorithm, previous=previous)
    return grouping


def owners(grouping):
    return {ssp: task for task, ssps in grouping.tasks.items() for ssp in ssps}


@given(GROUPERS, st.integers(1, 5), st.lists(st.integers(1, 3), min_size=1, max_size=3), st.integers(0, 10_000))
def test_modulo_keeps_all_partitions_of_a_key_in_one_task(grouper, initial, growth, hashed):
    counts = [initial]
    for factor in growth:
        counts.append(counts[-1] * factor)

    owner = owners(grow(counts, MODULO, grouper))

    assert len({owner[Ssp("kafka", "a", hashed % count)] for count in counts}) == 1


@given(
    GROUPERS,
    st.lists(st.integers(0, 100), min_size=1, max_size=20),
    st.lists(st.integers(1, 25), min_size=2, max_size=5, unique=True).map(sorted),
    st.data(),
)
def test_custom_algorithms_keep_all_partitions_of_a_key_in_one_task(grouper, splits, counts, data):
    tree = Tree(splits)
    partition = data.draw(st.integers(0, counts[-1] - 1))

    owner = owners(grow(counts, CheckedAlgorithm("tree", tree), grouper))

    possible = tree.possible_partitions(partition, counts[0])
    assert len({owner[Ssp("kafka", "a", each)] for each in possible}) == 1


@given(st.integers(1, 5), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_chained_growth_is_growth_in_one_step(initial, growth):
    counts = [initial]
    for factor in growth:
        counts.append(counts[-1] * factor)

    assert grow(counts, MODULO) == grow([counts[0], counts[-1]], MODULO)


@given(GROUPERS, COUNTS, st.booleans())
def test_each_partition_has_one_task_and_broadcast_ones_have_all(grouper, counts, stateful):
    streams = kafka({**counts, "everywhere": 2}, "everywhere")

    grouping = group_partitions(grouper, streams, stateful=stateful)

    shared = [Ssp("kafka", "everywhere", 0), Ssp("kafka", "everywhere", 1)]
    assert all(list(ssps[-2:]) == shared for ssps in grouping.tasks.values())
    owned = [ssp for ssps in grouping.tasks.values() for ssp in ssps[:-2]]
    assert sorted(owned) == sorted(Ssp("kafka", name, p) for name, count in counts.items() for p in range(count))
    assert all(len(ssps) > 2 for ssps in grouping.tasks.values())


@given(GROUPERS, COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_streams_means_nothing(grouper, counts, order):
    shuffled = dict(order.sample(list(counts.items()), len(counts)))

    one, other = (group_partitions(grouper, kafka(each), stateful=True) for each in (counts, shuffled))

    assert list(one.tasks.items()) == list(other.tasks.items())
    assert one.changelog == other.changelog


@given(GROUPERS, COUNTS, COUNTS)
def test_new_tasks_take_the_next_changelog_partitions_in_natural_order(grouper, before, added):
    first = group_partitions(grouper, kafka(before), stateful=True)
    previous = model_of(first, before, before)

    second = group_partitions(grouper, kafka(added | before), stateful=True, previous=previous)

    assert first.changelog == {task: n for n, task in enumerate(sorted(first.tasks, key=natural_key))}
    new = sorted(second.tasks.keys() - first.tasks.keys(), key=natural_key)
    assert second.changelog == first.changelog | {task: n for n, task in enumerate(new, len(first.tasks))}


@given(COUNTS, st.integers(1, 3))
def test_tasks_of_stateless_apps_follow_the_partitions(counts, factor):
    grown = {name: count * factor for name, count in counts.items()}
    previous = model_of(group_partitions(Grouper.PARTITION, kafka(counts), stateful=False), counts, counts)

    grouping = group_partitions(Grouper.PARTITION, kafka(grown), stateful=False, previous=previous)

    assert grouping.tasks == group_partitions(Grouper.PARTITION, kafka(grown), stateful=False).tasks


@pytest.mark.parametrize("stateful", [True, False])
def test_a_stream_that_lost_partitions_is_refused(stateful):
    previous = model_of(group_partitions(Grouper.PARTITION, kafka({"a": 8}), stateful=True), {"a": 8}, {"a": 8})

    with pytest.raises(ExpansionError, match="stream a has 4 partitions and had 8") as refused:
        group_partitions(Grouper.PARTITION, kafka({"a": 4}), stateful=stateful, previous=previous)

    assert (refused.value.code, refused.value.stream) == (ProblemCode.PARTITION_COUNT_SHRUNK, "a")


def test_a_growth_that_is_not_accepted_says_what_to_do():
    previous = model_of(group_partitions(Grouper.PARTITION, kafka({"a": 3}), stateful=True), {"a": 3}, {"a": 3})

    with pytest.raises(ExpansionError, match=r"set job\.expansionAlgorithm") as refused:
        group_partitions(Grouper.PARTITION, kafka({"a": 5}), stateful=True, previous=previous)

    assert (refused.value.code, refused.value.stream) == (ProblemCode.UNSUPPORTED_EXPANSION, "a")


def test_a_stream_that_was_broadcast_is_grouped_plainly():
    before = kafka({"a": 2, "settings": 2}, "settings")
    previous = model_of(
        group_partitions(Grouper.PARTITION, before, stateful=True), {"a": 2, "settings": 2}, {"a": 2, "settings": 2}
    )

    now = group_partitions(Grouper.PARTITION, kafka({"a": 2, "settings": 2}), stateful=True, previous=previous)

    assert now.tasks == group_partitions(Grouper.PARTITION, kafka({"a": 2, "settings": 2}), stateful=True).tasks


def test_a_job_model_without_an_owner_is_refused():
    previous = PreviousGrouping(streams={"a": StreamHistory(initial=1, partitions=1)})

    with pytest.raises(ValueError, match="no task owns partition 0"):
        group_partitions(Grouper.PARTITION, kafka({"a": 1}), stateful=True, previous=previous)
