"""Accepted means right: random apps find what a batch query over the same rows finds, or are refused.

Each run has a seed of its own, and an app its number in it; `make soak` has thousands (STREAMAPP_DIFFERENTIAL_SEEDS).
A run goes on until so many apps were accepted and compared, however many were refused.
A failure prints how to run its app again (STREAMAPP_DIFFERENTIAL_APP), and the smallest app that shows it.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from itertools import count, islice

import pytest

from differential import circumstances, reference, refusals
from differential.cases import Case, Source, Stage
from differential.forgetful_starts import ForgetfulStarts
from differential.forked_starts import Forks, Outcome
from differential.key_kinds import KINDS
from differential.random_apps import random_case
from differential.random_inputs import LAST
from differential.shrinking import describe, shrink
from support import apps
from support.changed_packages import ROOT

SEEDS = int(os.environ.get("STREAMAPP_DIFFERENTIAL_SEEDS", "2"))
ONE = os.environ.get("STREAMAPP_DIFFERENTIAL_APP", "")
COMPARED = 20
REPLAY = "STREAMAPP_DIFFERENTIAL_APP={}/{} .venv/bin/python -m pytest {} -n0 -k accepted"


@pytest.fixture(scope="module")
def forks():
    server = Forks()
    yield server
    server.close()


def chosen() -> list[tuple[int, Iterable[int]]]:
    """Return the seeds with the numbers of their apps."""
    if ONE:
        seed, number = map(int, ONE.split("/"))
        return [(seed, [number])]
    return [(seed, count()) for seed in range(SEEDS)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed, numbers", chosen())
def test_accepted_apps_find_what_a_query_over_all_rows_finds(tmp_path, forks, record_property, seed, numbers):
    became: Counter[str] = Counter()
    for number in numbers:
        case = random_case(seed, number)
        finding = circumstances.examine(tmp_path / str(number), case, forks)
        became[_fate(finding)] += 1
        became["outputs"] += finding.compared
        if finding.difference:
            pytest.fail(_explained(tmp_path, forks, seed, number, finding.difference))
        shutil.rmtree(tmp_path / str(number), ignore_errors=True)
        if became["compared"] == COMPARED:
            break
    record_property("apps", dict(became))


def _fate(finding: circumstances.Finding) -> str:
    if finding.outcome.refused:
        return "refused"
    if finding.growth_refused:
        return "growth refused"
    return "compared" if finding.compared else "without one meaning"


def _explained(folder, forks, seed: int, number: int, difference: str) -> str:
    """Return the failure with the smallest case that shows a difference, which may take some minutes."""
    tries = count()

    def differs(case) -> bool:
        return bool(circumstances.examine(folder / f"smaller-{next(tries)}", case, forks).difference)

    smallest = shrink(random_case(seed, number), differs)
    again = circumstances.examine(folder / "smallest", smallest, forks).difference
    replay = REPLAY.format(seed, number, "tests/unit/apps/test_differential.py")
    return f"app {number} of seed {seed}: {difference}\nagain: {replay}\nsmallest: {again}\n{describe(smallest)}"


def test_no_function_is_given_the_last_rows_of_an_endless_stream():
    """A row is given when the watermark has reached its time, which without any disorder it does at once."""
    bounds = {
        stream["eventTime"]["maxOutOfOrderness"]
        for seed in range(400)
        for case in [random_case(seed, 0)]
        if any(":Before" in operator.get("process", {}).get("function", "") for operator in operators_of(case))
        for name, stream in case.document["spec"]["streams"].items()
        if name in case.sources and case.sources[name].last
    }
    assert bounds
    assert "0ms" not in bounds


def operators_of(case: Case) -> list[dict]:
    return case.document["spec"]["operators"]


def test_what_a_key_never_had_in_a_table_is_a_wrong_look_up():
    versions = reference.Versions(on="g", rows=(("a", 1003), ("a", 2000), ("b", 4001), (None, 5000)))
    right = [("1", "b", "a", "3", "1003"), ("1", "b", "a", "3", ""), ("2", "a", "b", "", "4001"), ("3", "", "", "", "")]
    wrong = [("1", "b", "a", "3", "4001"), ("2", "a", "c", "", "1003"), ("3", "a", "", "", "5000")]
    assert list(circumstances.wrong_versions([*right, *wrong], versions, KINDS["string"])) == wrong
    anything = reference.Versions(on="g", rows=None)
    assert not circumstances.wrong_versions(wrong, anything, KINDS["string"])


def test_what_a_key_had_in_a_table_is_not_to_be_lost():
    versions = reference.Versions(on="g", rows=(("a", 1003), (None, 5000)))
    found, lost, never = ("1", "b", "a", "3", "1003"), ("2", "b", "a", "3", ""), ("3", "a", "b", "3", "")
    rows = Counter([found, lost, lost, never, ("4", "a", "", "", "")])
    assert circumstances.lost_versions(rows, versions, KINDS["string"]) == {lost: 2}


def filled_and_looked_up() -> Case:
    """Return an app whose rows look up their key two shuffles before they put something there."""
    columns = "id int, k string, g string, v int"
    rows = tuple((number, key, key, number, number) for number, key in enumerate("abcabc"))
    source = Source(
        system="log",
        placing="anywhere",
        rows=rows,
        stages=(Stage(partitions=1, end=6),),
        last=((0, "z", "z", 1, LAST),),
    )
    table = {"key": "k", "value": "id * 1000 + coalesce(v, 0) as size", "schema": columns}
    operators = [
        {"name": "base", "from": "rows", "map": "id, k, g, v"},
        {"name": "first", "from": "base", "partitionBy": {"key": "g"}},
        {"name": "second", "from": "first", "partitionBy": {"key": "k"}},
        {"name": "stored", "from": "second", "sendToTable": "filled"},
        {"name": "keyed", "from": "base", "partitionBy": {"key": "k"}},
        {"name": "sized", "from": "keyed", "joinTable": {"table": "filled", "on": "k", "type": "left"}},
        {"name": "sent", "from": "sized", "sendTo": "found"},
    ]
    document = apps.document(operators, tables={"filled": table}, found={})
    document["spec"]["streams"]["rows"] = {
        "system": "log",
        "schema": f"{columns}, at timestamp",
        "eventTime": {"column": "at"},
    }
    return Case(document=document, keys="string", sources={"rows": source}, steps={}, starts=())


@pytest.mark.parametrize("forgotten, lost", [((), False), (("filled",), True)])
def test_a_table_that_forgets_is_a_difference(tmp_path, forgotten, lost):
    finding = circumstances.examine(tmp_path / "app", filled_and_looked_up(), ForgetfulStarts(*forgotten))
    assert finding.compared == 1
    assert ("did not find in a table what its key had there" in finding.difference) == lost, finding
    assert bool(finding.difference) == lost


def test_refusals_can_be_tried_with_the_checks_switched_off():
    assert (ROOT / refusals.PLANNER).read_text().count(refusals.CHECKED) == 1
    (refused,) = islice(refusals.refused_for_types(0, count()), 1)
    assert [trial.number for trial in refusals.trials(0, [refused[0]])] == [refused[0]]


def counted_without_keys() -> Case:
    """Return an app that counts rows by a key that they don't have, in all partitions of a stream that claims one."""
    rows = tuple((number, None, "g", number, number) for number in range(6))
    source = Source(system="log", placing="anywhere", rows=rows, stages=(Stage(partitions=3, end=6),))
    operators = [
        {
            "name": "counted",
            "from": "rows",
            "aggregate": {"by": ["k"], "select": "count(*) as id, max(g) as g, 1 as v"},
        },
        {"name": "restored", "from": "counted", "map": "cast(id as int) as id, k, g, v"},
        {"name": "sent", "from": "restored", "sendTo": "found"},
    ]
    document = apps.document(operators, found={})
    schema = "id int, k string, g string, v int, at timestamp"
    document["spec"]["streams"]["rows"] = {"system": "log", "schema": schema, "key": "k", "bounded": True}
    return Case(document=document, keys="string", sources={"rows": source}, steps={}, starts=())


def test_an_app_that_a_check_of_its_rows_stops_is_no_failure(tmp_path, forks):
    trial = refusals.judged(7, circumstances.examine(tmp_path / "app", counted_without_keys(), forks))
    assert trial.fate is refusals.Fate.STOPPED, trial
    assert "the row with key k = None is in partition 1, but belongs in 0" in trial.why


def test_a_refused_app_that_fails_is_reported_with_its_error():
    failed = circumstances.Finding(outcome=Outcome(failed="KeyError: 7"), difference="KeyError: 7")
    trial = refusals.judged(3, failed)
    assert trial.fate is refusals.Fate.FAILED
    assert [*refusals.report({3: ("Cycle",)}, [trial])][-1] == "app 3 (Cycle) failed: KeyError: 7"
    grown = refusals.judged(4, circumstances.Finding(outcome=Outcome(stopped=True), growth_refused=True))
    assert (grown.fate, grown.why) == (refusals.Fate.STOPPED, "its growth was refused")
