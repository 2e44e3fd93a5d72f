"""Every problem in `docs/problems.md` happens as it is told there, and its fix mends it."""

from dataclasses import dataclass

import pytest

from streamapp_core.deployment.pod_policy import PodPolicy, find_forbidden
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan import Plan, PlanResult, plan
from streamapp_core.problems import Problem, ProblemCode, sorted_problems
from streamapp_core.spec.parse import parse_document, parse_text
from streamapp_core.spec.yaml_document import read_document
from support.plan_documents import repaired
from unit.docs import pages

SECTIONS = pages.sections(pages.read("problems.md"))
CODES = sorted(code.value for code in ProblemCode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A section's example: the app as it was, as it is refused, what is printed then, and the ways to mend it."""

    before: str
    refused: str
    printed: str
    fixes: tuple[str, ...]

    @property
    def previous(self) -> JobModel | None:
        """The job model before, if the app ran before it was refused."""
        counts = pages.counts_before(self.before)
        if self.refused == self.before and counts == pages.counts(self.before):
            return None
        return build_job_model(accepted(plan(parse_text(self.before), counts)))


def example(section: str) -> Example:
    """Read a section: YAML, edits of the running app, the problem, fixes."""
    (app, *blocks) = pages.fences(section)
    languages = [block.language for block in blocks]
    assert app.language == "yaml"
    assert languages.count("text") == 1
    assert set(languages) == {"text", "diff"}
    told = languages.index("text")
    refused = app.text
    for edit in blocks[:told]:
        refused = pages.changed(refused, edit.text)
    fixes = tuple(pages.changed(refused, fix.text) for fix in blocks[told + 1 :])
    return Example(before=app.text, refused=refused, printed=blocks[told].text, fixes=fixes)


def accepted(result: PlanResult) -> Plan:
    assert result.plan is not None, "\n".join(map(str, result.problems))
    return result.plan


def judged(text: str, previous: JobModel | None) -> tuple[Problem, ...]:
    """Return all problems of an app on a cluster whose administrator has allowed nothing more."""
    parsed = parse_text(text)
    forbidden = () if parsed.app is None else find_forbidden(parsed.app, PodPolicy())
    return sorted_problems([*plan(parsed, pages.counts(text), previous).problems, *forbidden])


def test_every_code_has_one_section_in_order():
    assert [title for title, _ in SECTIONS] == CODES


def test_the_overview_names_every_code_once():
    overview = pages.read("problems.md").partition("\n## ")[0]
    assert sorted(code for code in CODES for _ in range(overview.count(f"[{code}]"))) == CODES


@pytest.mark.parametrize("code, section", SECTIONS, ids=CODES)
def test_the_example_is_refused_as_printed(code, section):
    case = example(section)
    problems = judged(case.refused, case.previous)
    assert "\n".join(pages.printed(problems)) == case.printed.strip()
    assert code in {problem.code for problem in problems}


@pytest.mark.parametrize("code, section", SECTIONS, ids=CODES)
def test_each_fix_is_accepted(code, section):
    case = example(section)
    assert case.fixes
    for fixed in case.fixes:
        assert judged(fixed, case.previous) == ()


@pytest.mark.parametrize("code, section", SECTIONS, ids=CODES)
def test_a_repair_that_is_offered_is_accepted(code, section):
    case = example(section)
    counts = pages.counts(case.refused)
    document, _ = read_document(case.refused)
    problems = plan(parse_text(case.refused), counts, case.previous).problems
    for problem in problems:
        if problem.repair is not None:
            accepted(plan(parse_document(repaired(document, problem.repair)), counts, case.previous))
