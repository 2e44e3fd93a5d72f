"""An app in a time zone reads texts without one there, and its expressions go by the clocks there."""

import json

import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_runtime.app_tests.json_rows import json_line
from support import apps
from support.plan_documents import accepted, document, found

ZONE = "America/New_York"
GAP, TWICE = "2024-03-10T02:30:00", "2024-11-03T01:30:00"
ROWS = {
    GAP: ("2024-03-10T07:30:00Z", "2024-03-10 03:30:00"),
    TWICE: ("2024-11-03T05:30:00Z", "2024-11-03 01:30:00"),
    "2024-07-01T20:15:00": ("2024-07-02T00:15:00Z", "2024-07-01 20:15:00"),
    "2024-07-01T20:15:00Z": ("2024-07-01T20:15:00Z", "2024-07-01 16:15:00"),
    "2024-07-01T20:15:00+02:00": ("2024-07-01T18:15:00Z", "2024-07-01 14:15:00"),
}


def app(form, zone=ZONE):
    return {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "clocks"},
        "spec": {
            "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
            "defaultSystem": "log",
            "streams": {
                "in": {
                    "system": "files",
                    "format": form,
                    "schema": "at timestamp, place timestamp",
                    "folderColumns": ["place"],
                },
                "out": {"system": "files", "format": "json"},
            },
            "operators": [
                {
                    "name": "shown",
                    "from": "in",
                    "map": "at, place, at::string as text, hour(at) as h, to_date(at) as day, "
                    "cast(to_date(at) as timestamp) as midnight, at > '2024-06-01' as late, current_timezone() as zone",
                },
                {"name": "sent", "from": "shown", "sendTo": "out"},
            ],
            "job": {"timeZone": zone},
        },
    }


@pytest.mark.parametrize("form", ["csv", "json"])
def test_texts_without_a_time_zone_are_in_that_of_the_app(tmp_path, form):
    folder = tmp_path / "in" / "place=2024-01-01 12%3A00%3A00"
    folder.mkdir(parents=True)
    lines = [*ROWS] if form == "csv" else [json_line({"at": at}).decode().strip() for at in ROWS]
    (folder / f"0.{form}").write_text("\n".join([*(["at"] if form == "csv" else []), *lines]) + "\n")
    assert apps.run(app(form), tmp_path).not_used == {}
    written = [
        json.loads(line)
        for part in sorted((tmp_path / "out").glob("part-*.json"))
        for line in part.read_text().splitlines()
    ]
    assert [(row["at"], row["text"]) for row in written] == [*ROWS.values()]
    assert {row["place"] for row in written} == {"2024-01-01T17:00:00Z"}
    assert [row["h"] for row in written] == [3, 1, 20, 16, 14]
    assert written[2]["day"] == "2024-07-01"
    assert written[2]["midnight"] == "2024-07-01T04:00:00Z"
    assert [row["late"] for row in written] == [False, True, True, True, True]
    assert {row["zone"] for row in written} == {ZONE}


@pytest.mark.parametrize(
    "zone, repair",
    [
        ("Mars/Base", "there is no time zone 'Mars/Base'; write one as 'Europe/Paris', 'UTC' or '+02:00'"),
        ("europe/pari", "there is no time zone 'europe/pari'; did you mean 'Europe/Paris'?"),
        ("GMT-3", "write time zone 'GMT-3' as '-03:00'"),
        ("+2", "write time zone '+2' as '+02:00'"),
        ("Z", "write time zone 'Z' as 'UTC'"),
        ("EST", "write time zone 'EST' as '-05:00'"),
    ],
)
def test_a_zone_that_there_is_not_is_refused_with_its_path(zone, repair):
    problems = parse_text(json.dumps(app("csv", zone))).problems
    assert [(problem.path, problem.message) for problem in problems] == [("spec.job.timeZone", repair)]


def test_another_zone_makes_another_plan():
    operators = [{"name": "sent", "from": "in", "sendTo": "out"}]
    streams = {"in": {"schema": "at timestamp"}, "out": {}}
    utc, named, offset = (
        accepted(document(operators, streams=streams, job=job), {"in": 1, "out": 1}).topology_hash
        for job in ({}, {"timeZone": ZONE}, {"timeZone": "+05:30"})
    )
    assert len({utc, named, offset}) == 3
    explicit = document(operators, streams=streams, job={"timeZone": "UTC"})
    assert accepted(explicit, {"in": 1, "out": 1}).topology_hash == utc


def test_names_of_zones_that_change_with_the_clocks_are_refused():
    operators = [
        {"name": "shown", "from": "in", "map": "date_format(at, 'HH:mm z') as t"},
        {"name": "sent", "from": "shown", "sendTo": "out"},
    ]
    streams = {"in": {"schema": "at timestamp"}, "out": {}}
    refused = document(operators, streams=streams, job={"timeZone": ZONE})
    assert found(refused, {"in": 1, "out": 1}) == {("InvalidExpression", "spec.operators[0].map")}
    accepted(document(operators, streams=streams, job={"timeZone": "+05:30"}), {"in": 1, "out": 1})
