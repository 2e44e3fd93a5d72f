"""Share out 1,000,000 SSPs, 100 streams of 10,000 partitions: first start, and after all streams have doubled."""

from functools import partial

from benchmarks.timing import median_seconds, report
from streamapp_core.spec.job import Grouper
from streamapp_core.tasks import GroupedStream, PreviousGrouping, StreamHistory, group_partitions

STREAMS, PARTITIONS, LIMIT = 100, 10_000, 2.0


def streams_of(partitions: int) -> dict[str, GroupedStream]:
    return {f"stream-{n}": GroupedStream(system="kafka", partitions=partitions) for n in range(STREAMS)}


def main() -> None:
    half = PARTITIONS // 2
    first = group_partitions(Grouper.PARTITION, streams_of(half), stateful=True)
    history = dict.fromkeys(streams_of(half), StreamHistory(initial=half, partitions=half))
    previous = PreviousGrouping(tasks=first.tasks, streams=history, changelog=first.changelog)
    grouped = partial(group_partitions, Grouper.PARTITION, streams_of(PARTITIONS), stateful=True)

    report("1,000,000 SSPs, 10,000 tasks, first start", median_seconds(grouped), limit=LIMIT)
    expanded = median_seconds(partial(grouped, previous=previous))
    report("1,000,000 SSPs, 5,000 fixed tasks, expansion", expanded, limit=LIMIT)
