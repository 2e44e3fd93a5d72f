"""The verdict on a resource before it is stored: all problems, by what is known without asking anybody."""

from dataclasses import replace

import pytest

from streamapp_core.problems import ProblemCode
from streamapp_operator.decide.admission import judge_admission
from streamapp_operator.observe.admission_reviews import AdmissionRequest
from streamapp_operator.observe.document_recovery import RunDocuments
from support.observed_values import COUNTS, EDITED, REFUSED, SHOP, plan_request, record, resource, stored, unbound_model
from support.operated import PLANNER

RUN = RunDocuments(record=record(), model=stored(unbound_model()), pointer=None, unreadable=None, foreign=None)
ORDERS, HUB = SHOP.spec["streams"]["orders"], SHOP.spec["systems"]["kafka"]["kafka"]
RENAMED = resource(generation=2, streams={**SHOP.spec["streams"], "orders": {**ORDERS, "name": "other"}})
TWO_MISTAKES = replace(REFUSED, text=REFUSED.text.replace('"sendTo":"totals"', '"sendTo":"total"'))


def judge(app, before=None, documents=None, counts=COUNTS):
    request = AdmissionRequest(uid="u", app=app, before=None if before is None else before.spec)
    return judge_admission(request, documents, counts, PLANNER)


def codes(verdict):
    return {problem.code for problem in verdict.problems}


def test_an_app_without_a_problem_is_admitted():
    verdict = judge(SHOP)
    assert (verdict.problems, verdict.unknown_streams) == ((), ())


def test_all_problems_are_found_at_once():
    found = judge(TWO_MISTAKES).problems
    assert {ProblemCode.UNKNOWN_COLUMN, ProblemCode.UNKNOWN_STREAM} <= {problem.code for problem in found}
    assert found == PLANNER(plan_request(TWO_MISTAKES)).problems


def test_an_edit_is_judged_by_the_run_that_it_continues():
    assert codes(judge(EDITED, SHOP, RUN)) == set()
    assert codes(judge(RENAMED, SHOP, RUN)) == {ProblemCode.RUN_ID_REQUIRED}
    assert codes(judge(RENAMED)) == set()


@pytest.mark.parametrize("change", [{}, {"suspend": True}, {"suspend": False}, {"deletionPolicy": "Delete"}])
def test_what_changes_only_what_counts_in_any_spec_is_admitted(change):
    after = resource(**{**REFUSED.spec, **change})
    assert judge(after, REFUSED).problems == ()
    assert judge(after, SHOP).problems != ()


def test_the_accepted_spec_may_always_come_back():
    odd = {**COUNTS, "orders": 6}
    assert judge(SHOP, EDITED, RUN, counts=odd).problems == ()
    assert codes(judge(EDITED, SHOP, RUN, counts=odd)) == {ProblemCode.UNSUPPORTED_EXPANSION}


def test_a_spec_that_takes_long_is_not_judged():
    verdict = judge(resource(env=[{"name": "LONG", "value": 300_000 * "x"}], operators=REFUSED.spec["operators"]))
    assert (verdict.too_large, verdict.problems) == (True, ())


def test_an_app_that_is_deleted_is_not_judged():
    assert judge(replace(REFUSED, deleting=True), SHOP).problems == ()


@pytest.mark.parametrize("partitions, found", [(8, set()), (6, {ProblemCode.UNSUPPORTED_EXPANSION})])
def test_growth_that_is_known_is_judged(partitions, found):
    assert codes(judge(EDITED, SHOP, RUN, counts={**COUNTS, "orders": partitions})) == found


@pytest.mark.parametrize("app, found", [(SHOP, set()), (REFUSED, {ProblemCode.UNKNOWN_COLUMN})])
def test_topics_that_nobody_has_counted_yet_are_named_and_not_judged(app, found):
    verdict = judge(app, counts={})
    assert (codes(verdict), verdict.unknown_streams) == (found, ("orders", "totals"))


def test_settings_that_name_files_are_refused():
    config = {"ssl.ca.location": "/proc/self/fd/1"}
    verdict = judge(resource(systems={"kafka": {"kafka": {**HUB, "config": config}}}))
    assert [problem.path for problem in verdict.problems] == ["spec.systems.kafka.kafka.config.ssl.ca.location"]


def test_what_is_not_allowed_is_refused_with_all_else():
    forbidden = resource(**{**TWO_MISTAKES.spec, "processors": {"count": 2, "state": {"hostPath": "/etc"}}})
    forbidden = replace(forbidden, text=forbidden.text.replace('"sendTo":"totals"', '"sendTo":"total"'))
    assert codes(judge(forbidden)) == codes(judge(TWO_MISTAKES)) | {ProblemCode.NOT_ALLOWED}
