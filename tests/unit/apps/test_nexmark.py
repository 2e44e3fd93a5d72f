"""The Nexmark example: each query finds what its oracle finds, whatever the partitions, processors and commits are."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from examples.nexmark.check import HERE, QUERIES, SQL_QUERIES, Oracle
from examples.nexmark.generate import make, write_files

from support import apps

EVENTS, RATE, DISORDER = 3000, 100, 4000
START = datetime(2024, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Circumstances:
    """Of what the results must not depend, but for the events themselves."""

    seed: int
    start: str
    rate: int
    partitions: int
    processors: int
    commit_interval: str

    def __str__(self):
        return f"{self.partitions}-partitions-{self.processors}-processors-{self.commit_interval}"


CIRCUMSTANCES = [
    Circumstances(1, "2024-02-29T23:59:45", rate=100, partitions=1, processors=1, commit_interval="5s"),
    Circumstances(2, "2024-03-31T06:59:45", rate=100, partitions=2, processors=3, commit_interval="20ms"),
    Circumstances(3, "2024-10-27T18:59:45", rate=20, partitions=3, processors=2, commit_interval="100ms"),
    Circumstances(1, "2024-12-31T23:59:59.900", rate=10_000, partitions=4, processors=3, commit_interval="500ms"),
]


@pytest.fixture(scope="module", params=CIRCUMSTANCES, ids=str)
def house(request, tmp_path_factory):
    """Write events into a folder; give it with the oracle that has read them."""
    given = request.param
    folder = tmp_path_factory.mktemp("nexmark")
    start = datetime.fromisoformat(given.start).replace(tzinfo=UTC)
    lines = make(events=EVENTS, seed=given.seed, rate=given.rate, start=start, disorder=DISORDER)
    write_files(folder / "data", lines, given.partitions)
    with Oracle(folder / "data") as oracle:
        yield given, folder, oracle


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_finds_what_its_oracle_finds(query, house):
    check(query, "queries", house)


@pytest.mark.parametrize("house", CIRCUMSTANCES[2:3], ids=str, indirect=True)
@pytest.mark.parametrize("query", SQL_QUERIES)
def test_an_app_in_sql_finds_the_same(query, house):
    check(query, "sql", house)


def check(query, form, house):
    given, folder, oracle = house
    app = yaml.safe_load((HERE / form / f"{query}.yaml").read_text())
    app["spec"]["job"] = {"commitInterval": given.commit_interval, "watermarkInterval": "1ms"}
    app["spec"]["processors"]["count"] = given.processors
    name = query if form == "queries" else f"{query}-{form}"
    app["spec"]["streams"]["results"]["name"] = f"out/{name}"
    (folder / name).mkdir()
    summary = apps.run(app, folder / name)
    assert summary.not_used == {}
    comparison = oracle.compare(query, folder / "out" / name)
    assert comparison.equal, comparison
    assert comparison.rows > 0


def times(events):
    """Give the times of events, in the order of their arrival."""
    return [datetime.fromisoformat(next(filter(None, map(event.get, KINDS)))["dateTime"]) for event in events]


KINDS = ("person", "auction", "bid")


def made(**options):
    """Make events with these options and read them."""
    options = {"events": 2000, "seed": 5, "rate": RATE, "start": START, "disorder": DISORDER} | options
    return [json.loads(line) for line in make(**options)]


def test_the_same_arguments_make_the_same_events_and_others_others():
    assert made() == made()
    assert made() != made(seed=6)
    assert sorted(map(json.dumps, made())) == sorted(map(json.dumps, made(disorder=0)))


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_others_bids():
    events = made()
    assert Counter(event["event_type"] for event in events) == {0: 40, 1: 120, 2: 1840}
    for event in events:
        assert [kind for kind in KINDS if event[kind]] == [KINDS[event["event_type"]]]


def pairs_of(events):
    """Count who has bid on what."""
    return len({(bid["auction"], bid["bidder"]) for event in events if (bid := event["bid"])})


def test_spread_bids_are_of_anybody_on_anything_that_there_is():
    events = made(spread=True, disorder=0)
    assert pairs_of(events) > 1.5 * pairs_of(made())
    opened = set()
    for event in events:
        if event["auction"]:
            opened.add(event["auction"]["id"])
        assert event["bid"] is None or event["bid"]["auction"] in opened


def test_events_come_late_by_no_more_than_the_disorder():
    in_order = times(made(disorder=0))
    assert in_order == sorted(in_order)
    latest, lateness = START, timedelta(0)
    for time in times(made()):
        latest = max(latest, time)
        lateness = max(lateness, latest - time)
    assert timedelta(milliseconds=DISORDER / 2) < lateness <= timedelta(milliseconds=DISORDER)


def test_an_oracle_names_rows_that_are_missing_surplus_or_of_other_columns(tmp_path):
    write_files(tmp_path / "data", make(events=100, seed=1, rate=RATE, start=START, disorder=0), 2)
    results = tmp_path / "out"
    results.mkdir()
    with Oracle(tmp_path / "data") as oracle:
        assert len(oracle.compare("q22", results).missing) == 3
        bids = [bid for event in made(events=100, seed=1) if (bid := event["bid"])]
        rows = [
            {name: bid[name] for name in ("auction", "bidder", "price", "channel")}
            | dict(zip(("dir1", "dir2", "dir3"), bid["url"].split("/")[3:6], strict=True))
            for bid in bids
        ]
        part = results / "part-1-1-0.json"
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert oracle.compare("q22", results).equal
        (results / "part-1-1-1.json").write_text(json.dumps(rows[0]) + "\n")
        again = oracle.compare("q22", results)
        assert (again.rows, again.missing, again.surplus) == (92, (), (tuple(rows[0].values()),))
        part.write_text(json.dumps(rows[0] | {"more": 1}) + "\n")
        with pytest.raises(ValueError, match="more; expected"):
            oracle.compare("q22", results)


def test_of_results_that_are_corrected_the_last_one_counts(tmp_path):
    """Parts are read as they were written: the tenth after the second."""
    write_files(tmp_path / "data", make(events=100, seed=1, rate=RATE, start=START, disorder=0), 1)
    results = tmp_path / "out"
    results.mkdir()
    with Oracle(tmp_path / "data") as oracle:
        (right,) = oracle.compare("q15", results).missing
        names = [*oracle.columns("q15")]
        for number, total in ((2, 7), (10, right[1])):
            row = dict(zip(names, right, strict=True)) | {"total_bids": total}
            (results / f"part-1-1-{number}.json").write_text(json.dumps(row) + "\n")
        assert oracle.compare("q15", results).equal
        (results / "part-1-1-11.json").write_text(json.dumps(row | {"__op": "d"}) + "\n")
        assert oracle.compare("q15", results).missing == (right,)
        (results / "part-2-1-0.json").write_text(json.dumps(row | {"__op": "u"}) + "\n")
        assert oracle.compare("q15", results).equal
