"""Whether a spec is acceptable with the streams as they are now: the planner's verdict, and the one on edits."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamapp_core.edits import run_id_problems
from streamapp_core.edits.classify_edits import classify
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.plan.planner import plan
from streamapp_core.problems import Problem, sorted_problems
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.parse import ParsedApp
from streamapp_core.tasks import AlgorithmLookup, built_in_algorithm
from streamapp_operator.observe.app_text import read_app

_REMEMBERED = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A resource (its text), the counts of its streams, and what it follows: another text in force, the job model.

    `run_id` is for an app that has none yet.
    """

    text: str
    counts: tuple[tuple[str, int], ...]
    in_force: str | None
    model: JobModel | None
    run_id: str

    @property
    def key(self) -> tuple[object, ...]:
        """What the answer depends on: of the job model not who runs the tasks."""
        return self.text, self.counts, self.in_force, self.run_id, _continuity(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVerdict:
    """All problems, or the plan."""

    problems: tuple[Problem, ...]
    plan: Plan | None


Planner = Callable[[PlanRequest], PlanVerdict]


def _continuity(model: JobModel | None) -> object:
    if model is None:
        return None
    streams = {name: (stream.initial_partitions, stream.partitions) for name, stream in model.streams.items()}
    fixed = (streams, model.partition_keys, model.stores)
    return model.run_id, model.known_grouper, tuple(tuple(sorted(part.items())) for part in fixed)


def accepted_app(text: str) -> StreamApp:
    """Read a text that was accepted.

    Raises:
        ValueError: it was not.
    """
    app = read_app(text).app
    if app is None:
        raise ValueError("the accepted spec can't be read any more: an earlier release accepted it")
    return app


def judge(question: PlanRequest, algorithms: AlgorithmLookup = built_in_algorithm) -> PlanVerdict:
    """Plan an app, or find everything that is wrong with it and with what it would do to its run."""
    parsed = read_app(question.text)
    counts: Mapping[str, int] = dict(question.counts)
    result = plan(parsed, counts, question.model, run_id=question.run_id, algorithms=algorithms)
    told = {(problem.path, problem.code) for problem in result.problems}
    more = [problem for problem in _edit_problems(parsed, question) if (problem.path, problem.code) not in told]
    problems = sorted_problems([*result.problems, *more])
    return PlanVerdict(problems=problems, plan=None if problems else result.plan)


def _edit_problems(parsed: ParsedApp, question: PlanRequest) -> tuple[Problem, ...]:
    if question.in_force is None or parsed.app is None or parsed.problems:
        return ()
    run_id = None if question.model is None else question.model.run_id
    return run_id_problems(classify(accepted_app(question.in_force), parsed.app, run_id=run_id))


class CachingPlanner:
    """Judges, and knows the verdicts of before: neither a refused spec nor an unchanged one is planned again."""

    def __init__(self, judge_anew: Planner = judge) -> None:
        self._judge = judge_anew
        self._verdicts: OrderedDict[tuple[object, ...], PlanVerdict] = OrderedDict()

    def __call__(self, question: PlanRequest) -> PlanVerdict:
        """Give the verdict on a question. May be called by several threads: at worst one judges twice."""
        key = question.key
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = self._judge(question)
            if len(self._verdicts) > _REMEMBERED:
                self._verdicts.popitem(last=False)
        return verdict
