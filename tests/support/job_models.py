"""Job models for tests: one with every field, and any."""

from hypothesis import strategies as st

from streamapp_core.job_model.job_model import JobModel, ProcessorModel, StreamPartitions, TaskModel
from streamapp_core.spec.job import Grouper
from streamapp_core.ssp import Ssp


def example(*, tasks=6, version=7):
    """Give a model with every field that its first release had; some tasks have opened their state, one has gone."""
    names = [f"Partition {number}" for number in range(tasks)]
    return JobModel(
        version=version,
        run_id="r1",
        streams={
            "flights": StreamPartitions(initial_partitions=3, partitions=tasks),
            "by": StreamPartitions(initial_partitions=tasks, partitions=tasks),
        },
        tasks={
            name: TaskModel(
                ssps=(Ssp("kafka", "by", number), Ssp("kafka", "flights", number)),
                changelog_partition=number,
                processor=str(number % 2),
                location="node-ü" if number % 2 else None,
            )
            for number, name in enumerate(names)
        },
        processors={"0": ProcessorModel(), "1": ProcessorModel(location="node-ü")},
        grouper=Grouper.PARTITION,
        partition_keys={"all": None, "by": "model"},
        stores={"hourly": "1f2e"},
        changelog={name: number for number, name in enumerate([*names, "Partition gone"])},
        transactional_ids=("delays-r1-0", "delays-r1-1"),
    )


_NAMES = st.text(min_size=1, max_size=12)
_COUNTS = st.integers(0, 10_000)


def job_models():
    """Give any model, also such that no planner would make."""
    tasks = st.builds(
        TaskModel,
        ssps=st.lists(st.builds(Ssp, _NAMES, _NAMES, _COUNTS), max_size=4).map(tuple),
        changelog_partition=_COUNTS,
        processor=_NAMES,
        location=st.none() | _NAMES,
        former_location=st.none() | _NAMES,
    )
    return st.builds(
        JobModel,
        version=st.integers(1, 1_000),
        run_id=_NAMES,
        streams=_map(
            st.builds(StreamPartitions, initial_partitions=_COUNTS, partitions=_COUNTS, grown_at=st.none() | _COUNTS)
        ),
        tasks=_map(tasks),
        processors=_map(st.builds(ProcessorModel, location=_NAMES)),
        grouper=st.none() | st.sampled_from(Grouper),
        partition_keys=_map(st.none() | _NAMES),
        stores=_map(_NAMES),
        changelog=_map(_COUNTS),
        transactional_ids=st.lists(_NAMES, max_size=3).map(tuple),
    )


def _map(values):
    return st.dictionaries(_NAMES, values, max_size=4)
