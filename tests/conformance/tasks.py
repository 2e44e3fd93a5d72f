"""Runs the vectors of `tasks.json`."""

import pytest

from streamapp_core.spec.job import Grouper
from streamapp_core.ssp import Ssp
from streamapp_core.tasks import (
    MODULO,
    NO_HISTORY,
    CheckedAlgorithm,
    ExpansionError,
    GroupedStream,
    PreviousGrouping,
    StreamHistory,
    group_partitions,
)


class Table:
    """An expansion algorithm that knows the pairs of counts of a table, and no others."""

    def __init__(self, table):
        self._parents = {
            (int(current), int(initial)): parents for initial, row in table.items() for current, parents in row.items()
        }

    def accepts(self, current_count, initial_count):
        return (current_count, initial_count) in self._parents

    def get_partition_before_expansion(self, current_partition, current_count, initial_count):
        return self._parents[current_count, initial_count][current_partition]


def run(vector):
    expect = vector["expect"]
    if "problem" in expect:
        with pytest.raises(ExpansionError) as refused:
            grouping_of(vector)
        assert refused.value.code == expect["problem"]
        return
    grouping = grouping_of(vector)
    assert {name: set(ssps) for name, ssps in grouping.tasks.items()} == ssps_of(expect["tasks"])
    assert all(len(set(ssps)) == len(ssps) for ssps in grouping.tasks.values())
    assert dict(grouping.changelog) == expect.get("changelog", grouping.changelog)


def grouping_of(vector):
    return group_partitions(
        Grouper(vector["grouper"]),
        {name: GroupedStream(**stream) for name, stream in vector["streams"].items()},
        stateful=vector["stateful"],
        processors=vector.get("processors", ()),
        algorithm=CheckedAlgorithm("table", Table(**vector["algorithm"])) if "algorithm" in vector else MODULO,
        previous=previous_of(vector["previous"]) if vector.get("previous") else NO_HISTORY,
    )


def previous_of(previous):
    return PreviousGrouping(
        tasks=ssps_of(previous["tasks"]),
        streams={
            name: StreamHistory(initial=stream["initialPartitions"], partitions=stream["partitions"])
            for name, stream in previous["streams"].items()
        },
        changelog=previous.get("changelog", {}),
    )


def ssps_of(tasks):
    return {name: {Ssp(*ssp) for ssp in ssps} for name, ssps in tasks.items()}
