"""The planner's verdict on a spec with the streams as they are now, edits included, and a cache of verdicts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from streamapp_core.deployment.pod_policy import PodPolicy, find_forbidden
from streamapp_core.deployment.spark_on_kubernetes import find_local_settings
from streamapp_core.edits import EditClass, run_id_problems
from streamapp_core.edits.classify_edits import classify_edits
from streamapp_core.edits.edit_classes import strongest
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.planner import plan
from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks import AlgorithmLookup, built_in_algorithm
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.bounded_cache import MAXIMUM_CHARACTERS, BoundedCache


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A resource's text, the partition counts of its streams, and what it follows: a previous text, a job model.

    `run_id` is for an app that names none. A spec that is `new`, or edited, is also judged by the policy for its pods;
    what was accepted keeps what it has.
    """

    text: str
    counts: Mapping[str, int]
    previous: str | None
    model: JobModel | None
    run_id: str
    new: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that the verdict depends on; of the job model not who runs the tasks."""
        counts = tuple(sorted(self.counts.items()))
        return self.text, counts, self.previous, self.run_id, self.new, _continuity(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVerdict:
    """All problems, or the plan."""

    problems: tuple[Problem, ...]
    plan: Plan | None


_NO_IMAGE = Problem(
    path="spec.image",
    code=ProblemCode.INVALID_SPEC,
    message="on Kubernetes an app needs an image; an administrator can set one for all apps: `defaults.image` in the "
    "values of StreamApp's chart",
)
RESTARTING_EDITS = (EditClass.RESTART, EditClass.RESTORE, EditClass.NEW_RUN)
Planner = Callable[[PlanRequest], PlanVerdict]


def parse_accepted_app(text: str) -> StreamApp:
    """Parse a text that was accepted.

    Raises:
        ValueError: it was not.
    """
    app = read_app(text).app
    if app is None:
        raise ValueError("the accepted spec can't be read any more: an earlier release accepted it")
    return app


@lru_cache(maxsize=200)
def classify_texts(old: str, new: str, run_id: str) -> EditClass:
    """Return the class of the edits between two texts that were accepted.

    Raises:
        ValueError: one of them was not.
    """
    return strongest(classify_edits(parse_accepted_app(old), parse_accepted_app(new), run_id=run_id))


def plan_app(
    request: PlanRequest,
    algorithms: AlgorithmLookup = built_in_algorithm,
    policy: PodPolicy = PodPolicy(),  # noqa: B008 - it is immutable
) -> PlanVerdict:
    """Plan an app, or find everything that is wrong with it, with what it would do to its run, and with its pods."""
    parsed = read_app(request.text)
    result = plan(parsed, request.counts, request.model, run_id=request.run_id, algorithms=algorithms)
    found = {(problem.path, problem.code) for problem in result.problems}
    more = [problem for problem in _edit_problems(parsed, request) if (problem.path, problem.code) not in found]
    if parsed.app is not None and parsed.app.spec.image is None:
        more.append(_NO_IMAGE)
    if parsed.app is not None:
        more += find_local_settings(parsed.app.spec)
    forbidden = find_forbidden(parsed.app, policy) if request.new and parsed.app is not None else ()
    problems = sorted_problems([*result.problems, *more, *forbidden])
    return PlanVerdict(problems=problems, plan=None if problems else result.plan)


class CachingPlanner:
    """A planner that remembers its newest verdicts: an unchanged spec, refused or not, is not planned again."""

    def __init__(self, planner: Planner = plan_app, *, maximum: int = MAXIMUM_CHARACTERS) -> None:
        """Remember the verdicts on specs of `maximum` characters in all."""
        self._planner = planner
        self._verdicts: BoundedCache[tuple[object, ...], PlanVerdict] = BoundedCache(maximum)

    def __call__(self, request: PlanRequest) -> PlanVerdict:
        """Return the verdict on a request. May be called by several threads: at worst one plans twice."""
        size = len(request.text) + len(request.previous or "")
        return self._verdicts.get(request.key, size, lambda: self._planner(request))


def _edit_problems(parsed: ParsedApp, request: PlanRequest) -> tuple[Problem, ...]:
    if request.previous is None or parsed.app is None or parsed.problems:
        return ()
    run_id = None if request.model is None else request.model.run_id
    return run_id_problems(classify_edits(parse_accepted_app(request.previous), parsed.app, run_id=run_id))


def _continuity(model: JobModel | None) -> object:
    """Return what a plan must keep of a run: its groupers, keys, shapes of state, and counts of partitions."""
    if model is None:
        return None
    streams = {name: (stream.initial_partitions, stream.partitions) for name, stream in model.streams.items()}
    fixed = (streams, model.partition_keys, model.stores)
    return model.run_id, model.known_grouper, tuple(tuple(sorted(part.items())) for part in fixed)
