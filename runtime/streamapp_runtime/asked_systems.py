"""Problems of an app when its systems have been asked for its streams, or could not be."""

from collections.abc import Sequence
from dataclasses import replace

from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_runtime.app_streams import declared_descriptor
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.file import explain_missing_files
from streamapp_systems.registry import Systems

_ABOUT_COUNTS = frozenset(
    {
        ProblemCode.STREAM_NOT_FOUND,
        ProblemCode.JOIN_PARTITION_MISMATCH,
        ProblemCode.GROUP_PARTITION_MISMATCH,
        ProblemCode.MULTIPLICITY_MISMATCH,
        ProblemCode.TOO_MANY_PARTITIONS,
        ProblemCode.PARTITION_COUNT_SHRUNK,
        ProblemCode.UNSUPPORTED_EXPANSION,
    }
)


def explain_missing_streams(
    problems: Sequence[Problem], app: StreamApp | None, systems: Systems
) -> tuple[Problem, ...]:
    """Return problems of which those of files that are not found say what is at their place."""
    return tuple(_explain(problem, app, systems) for problem in problems)


def find_problems_without_counts(parsed: ParsedApp) -> tuple[Problem, ...]:
    """Find what is wrong with an app whose systems can't be asked, however many partitions its streams have."""
    if parsed.app is None:
        return parsed.problems
    counts = {name: stream.partitions or 1 for name, stream in parsed.app.spec.streams.items()}
    found = make_plan(parsed, counts, algorithms=installed_algorithm).problems
    return tuple(problem for problem in found if problem.code not in _ABOUT_COUNTS)


def _explain(problem: Problem, app: StreamApp | None, systems: Systems) -> Problem:
    name = problem.path.removeprefix("spec.streams.")
    stream = None if app is None or problem.code is not ProblemCode.STREAM_NOT_FOUND else app.spec.streams.get(name)
    system = None if app is None or stream is None else app.spec.systems.get(stream.system)
    if stream is None or system is None or system.file is None:
        return problem
    why = explain_missing_files(systems.folder / system.file.path, declared_descriptor(name, stream, system))
    return replace(problem, message=f"`{name}` has no files: {why}")
