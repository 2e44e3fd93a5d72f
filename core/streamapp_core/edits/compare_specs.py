"""Comparison of a running app with a new spec for it: problems, edits, tasks that move, streams that are created."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice

from streamapp_core.assignment import ANY_LOCATION, Move
from streamapp_core.assignment.task_moves import explain_moves
from streamapp_core.edits.classify_edits import classify_edits, run_id_problems
from streamapp_core.edits.edit_classes import EditClass, FieldEdit, strongest
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.plan.planner import plan
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks.expansion import AlgorithmLookup, built_in_algorithm
from streamapp_core.tasks.natural_order import natural_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The effect of a new spec on a running app; with `problems` it is refused, and nothing moves or is created.

    `moves` are the tasks that get another processor, `new_streams` those that the app creates. A new run creates
    all its streams and moves no task.
    """

    problems: tuple[Problem, ...]
    edits: tuple[FieldEdit, ...]
    moves: tuple[Move, ...] = ()
    new_streams: tuple[PlannedStream, ...] = ()

    @property
    def edit_class(self) -> EditClass:
        """The class of all edits together."""
        return strongest(self.edits)


def compare_specs(
    old: StreamApp,
    new: ParsedApp,
    streams: Mapping[str, int],
    active: JobModel,
    *,
    algorithms: AlgorithmLookup = built_in_algorithm,
) -> Comparison:
    """Compare a running app with a new spec for it.

    Args:
        old: the spec that runs.
        new: the new spec, with the problems of its shape.
        streams: the number of partitions of every external stream that exists.
        active: the active job model of the app. Its processors are expected to stay where they are.
        algorithms: finds the expansion algorithm that the new spec names.
    """
    edits: tuple[FieldEdit, ...] = ()
    if new.app is not None and not new.problems:
        edits = classify_edits(old, new.app, run_id=active.run_id)
    result = plan(new, streams, active, algorithms=algorithms)
    reported = {(problem.path, problem.code) for problem in result.problems}
    more = [problem for problem in run_id_problems(edits) if (problem.path, problem.code) not in reported]
    problems = sorted_problems([*result.problems, *more])
    if result.plan is None or problems:
        return Comparison(problems=problems, edits=edits)
    return Comparison(
        problems=(),
        edits=edits,
        moves=_moves(result.plan, active),
        new_streams=tuple(_new_streams(result.plan, streams, active)),
    )


def _moves(planned: Plan, active: JobModel) -> tuple[Move, ...]:
    if planned.run_id != active.run_id:
        return ()
    processors = _processors(active, planned.app.spec.processors.count)
    model = build_job_model(planned, active, processors)
    return tuple(
        explain_moves(
            {name: task.processor for name, task in model.tasks.items()},
            processors,
            {name: task.location for name, task in active.tasks.items() if task.location is not None},
            {name: task.processor for name, task in active.tasks.items()},
        )
    )


def _processors(active: JobModel, wanted: int) -> Mapping[str, str]:
    """Return the expected processors: the current ones, less the last ones or with new ones as their number changes."""
    now = sorted(active.processors, key=natural_key)[:wanted]
    new = (str(number) for number in count() if str(number) not in active.processors)
    return {id_: active.processors[id_].location for id_ in now} | dict.fromkeys(
        islice(new, wanted - len(now)), ANY_LOCATION
    )


def _new_streams(planned: Plan, streams: Mapping[str, int], active: JobModel) -> Iterator[PlannedStream]:
    kept = set()
    if planned.run_id == active.run_id:
        kept = {(ssp.system, ssp.stream) for task in active.tasks.values() for ssp in task.ssps}
        kept |= {(s.system, s.name) for s in planned.streams.values() if s.name in active.streams and not s.consumers}
    for stream in planned.streams.values():
        if stream.role is StreamRole.INTERMEDIATE:
            made = (stream.system, stream.name) not in kept
        else:
            made = stream.name not in streams and stream.system_kind.transactional
        if made:
            yield stream
