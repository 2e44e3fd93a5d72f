"""New runs: what they delete of earlier ones, and say so before; outputs in logs stay, or are emptied on request."""

import shutil
from contextlib import closing

import pytest
from deltalake import DeltaTable

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.fresh_start import outputs_to_empty
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, TransactionOwner
from support import apps
from support.plan_documents import accepted

ROWS = 3


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


def app():
    return apps.document(
        [
            {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "counted", "from": "by", "aggregate": {"by": ["k"], "select": "count(*) as c"}},
            {"name": "sent", "from": "counted", "sendTo": "out"},
            {"name": "filed", "from": "counted", "sendTo": "kept"},
        ],
        **{"in": {"system": "log", "format": "json", "schema": "k int", "bounded": True}},
        out={"system": "log", "format": "json", "name": "out"},
        kept={},
    )


def write(folder, name, count, epoch=1):
    with closing(LogAdmin(folder / "log.db")) as admin:
        admin.create({stream(name): 1})
    with closing(LogProducer(folder / "log.db", [stream(name)], TransactionOwner(id="s", epoch=epoch))) as producer:
        for k in range(count):
            producer.send(Ssp("log", name, 0), b'{"k": %d}' % k, timestamp=0)
        producer.commit()


def held(folder, name):
    with closing(LogAdmin(folder / "log.db")) as admin:
        return admin.count_records([stream(name)])[name]


def identity(folder, name):
    with closing(LogAdmin(folder / "log.db")) as admin:
        return admin.identities([stream(name)])[name]


def texts(outputs):
    return [(output.stream, output.records, output.exact) for output in outputs]


@pytest.fixture
def announced(tmp_path):
    """What later runs of the app announce; one has completed."""
    write(tmp_path, "in", ROWS)
    found = []
    apps.run(app(), tmp_path, announce=found.append)
    assert [start.deletes for start in found] == [False]
    found.clear()
    return found


def test_a_new_run_says_what_it_deletes_and_its_results_follow_those_that_stay(tmp_path, announced):
    def announce(start):
        assert all(path.exists() for path in (*start.states, *start.part_files))
        announced.append(start)

    apps.run(app(), tmp_path, run_id="r2", announce=announce)
    (start,) = announced
    assert [path.name for path in start.states] == ["r1"]
    assert start.streams == ("default.app.r1._changelog", "default.app.r1.by")
    assert start.part_files == {tmp_path / "out" / "kept": 1}
    assert (texts(start.emptied), texts(start.kept)) == ([], [("out", ROWS, True)])
    assert held(tmp_path, "out") == 2 * ROWS


def test_on_request_outputs_are_emptied_and_stay_the_streams_they_were(tmp_path, announced):
    before = identity(tmp_path, "out")
    apps.run(app(), tmp_path, run_id="r2", delete_outputs=True, announce=announced.append)
    (start,) = announced
    assert (texts(start.emptied), texts(start.kept)) == ([("out", ROWS, True)], [])
    assert (held(tmp_path, "out"), held(tmp_path, "in")) == (ROWS, ROWS)
    assert identity(tmp_path, "out") == before


def test_a_run_that_did_not_get_so_far_empties_them_when_it_starts_again(tmp_path, announced):
    foreign = tmp_path / "out" / "kept"
    (foreign / "_streamapp.json").unlink()
    with pytest.raises(StreamSystemError, match="holds files that are not StreamApp's"):
        apps.run(app(), tmp_path, run_id="r2", delete_outputs=True)
    write(tmp_path, "out", 7, epoch=2)
    shutil.rmtree(foreign)
    apps.run(app(), tmp_path, fresh=False, run_id="r3", announce=announced.append)
    assert texts(announced[-1].emptied) == [("out", 7, True)]
    assert held(tmp_path, "out") == ROWS


def test_a_new_request_takes_the_place_of_one_that_did_not_get_so_far(tmp_path, announced):
    (tmp_path / "out" / "kept" / "_streamapp.json").unlink()
    with pytest.raises(StreamSystemError):
        apps.run(app(), tmp_path, run_id="r2", delete_outputs=True)
    write(tmp_path, "out", 7, epoch=2)
    shutil.rmtree(tmp_path / "out" / "kept")
    apps.run(app(), tmp_path, run_id="r3", announce=announced.append)
    assert texts(announced[-1].kept) == [("out", 7, True)]
    assert held(tmp_path, "out") == 7 + ROWS


def test_tables_keep_their_rows_whatever_was_requested(tmp_path):
    write(tmp_path, "in", ROWS)
    document = app()
    document["spec"]["systems"]["lake"] = {"delta": {"path": "."}}
    document["spec"]["streams"]["kept"] = {"system": "lake", "name": "out"}
    document["spec"]["operators"][-1]["from"] = "by"
    found = []
    for run_id in ("r1", "r2"):
        apps.run(document, tmp_path, run_id=run_id, delete_outputs=True, announce=found.append)
    assert texts(found[-1].emptied) == [("out", ROWS, True)]
    assert texts(found[-1].kept) == [("kept", ROWS, False)]
    assert DeltaTable(tmp_path / "out").count() == 2 * ROWS


def test_what_the_app_reads_is_never_emptied_whatever_its_system_is_called():
    document = app()
    spec = document["spec"]
    spec["systems"]["same"] = {"log": {"path": "./log.db"}}
    spec["streams"]["in"] |= {"system": "same", "name": "out"}
    spec["streams"]["more"] = {"system": "log", "name": "more"}
    spec["operators"].append({"name": "sent-more", "from": "counted", "sendTo": "more"})
    assert outputs_to_empty(accepted(document)) == {"log": ["more"]}


def test_a_completed_run_says_how_many_records_have_come_since(tmp_path):
    write(tmp_path, "in", ROWS)
    first = apps.run(app(), tmp_path, fresh=False)
    assert apps.run(app(), tmp_path, fresh=False) == first
    write(tmp_path, "in", 2, epoch=2)
    (notice,) = apps.run(app(), tmp_path, fresh=False).notices
    assert notice.reason is NoticeReason.INPUTS_CHANGED
    assert "its inputs have changed since it read them: in (2 records more). --fresh" in notice.message
    (tmp_path / "log.db").unlink()
    write(tmp_path, "in", 1)
    (notice,) = apps.run(app(), tmp_path, fresh=False).notices
    assert "in (it was recreated)" in notice.message
