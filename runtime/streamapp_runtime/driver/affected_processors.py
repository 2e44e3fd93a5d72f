"""The processors that a handover to another job model affects (docs/protocols.md, Handover)."""

from streamapp_core.job_model.job_model import JobModel


def affected_processors(previous: JobModel, new: JobModel) -> frozenset[str]:
    """Return which processors must be drained, or started, when a job model follows another.

    If a task or a stream changed, these are all: every processor must expect the new producers. Else those whose tasks
    change, or their executor.
    """
    everybody = frozenset(previous.processors) | frozenset(new.processors)
    partitions = [({name: task.ssps for name, task in model.tasks.items()}, model.streams) for model in (previous, new)]
    if partitions[0] != partitions[1]:
        return everybody
    return frozenset(id_ for id_ in everybody if _work(previous, id_) != _work(new, id_))


def _work(model: JobModel, processor: str) -> tuple[frozenset[str], str | None] | None:
    if processor not in model.processors:
        return None
    tasks = frozenset(name for name, task in model.tasks.items() if task.processor == processor)
    return tasks, model.processors[processor].executor
