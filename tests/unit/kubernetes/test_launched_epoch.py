"""A whole epoch of the driver on Kubernetes, with its documents in memory and its processors in threads."""

import pytest

from streamapp_core.deployment.driver_reports import DriverPhase, NoticeReason
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import RuntimeFailure, Superseded
from support import side_input_files
from support.hashed_keys import partition_of
from support.launched_apps import LaunchedApp, ThreadHost
from support.waiting import eventually

COUNTS = {"visits": 2, "customers": 2, "out": 2}
AGGREGATE = {"by": ["customer"], "select": "count(*) as n"}
ONE_FILE = dict.fromkeys(COUNTS, 1)


@pytest.mark.parametrize("table", [{}, {"persistent": False}])
@pytest.mark.parametrize("broadcast", [True, False])
def test_side_inputs_that_change_are_taken_as_a_whole_by_the_same_epoch(tmp_path, table, broadcast):
    table = table | {"refresh": "50ms"}
    document = side_input_files.app(table=table, broadcast=broadcast, files=1)
    hub = side_input_files.Hub(tmp_path, document)
    old, new = {("ann", "Oslo"), ("bob", "Rome")}, {("ann", "Bergen"), ("bob", None)}
    side_input_files.write(tmp_path, {"ann": "Oslo", "bob": "Rome"})
    visit = 0

    def found(cities):
        nonlocal visit
        assert not app.failed
        if app.health.ready:
            visit += 1
            hub.visit("ann", "bob", n=visit)
        return any(hub.cities(n) == cities for n in range(1, visit + 1))

    counts = COUNTS | {"customers": 1} if broadcast else ONE_FILE
    with LaunchedApp(tmp_path, document, counts, processors=2 if broadcast else 1) as app:
        assert eventually(lambda: found(old))
        before = app.record
        side_input_files.write(tmp_path, {"ann": "Bergen", "cleo": "Kiev", "dan": "Lima"})
        assert eventually(lambda: found(new))
        assert app.progress.phase is DriverPhase.RUNNING
    assert app.record.epoch == before.epoch
    assert app.record.side_inputs != before.side_inputs
    assert app.record.ends["customers"] == {0: 3}
    assert all(hub.cities(n) <= old or hub.cities(n) <= new for n in range(1, visit + 1))


def test_side_inputs_that_change_without_refresh_are_reported(tmp_path):
    document = side_input_files.app(partitionMonitor={"interval": "1s"})
    side_input_files.write(tmp_path, {"ann": "Oslo"}, {"bob": "Rome"})
    with LaunchedApp(tmp_path, document, COUNTS) as app:
        assert eventually(lambda: app.health.ready)
        side_input_files.write(tmp_path, {"ann": "Bergen"})
        assert eventually(lambda: app.progress.notices)
        (notice,) = app.progress.notices
    assert notice.reason is NoticeReason.SIDE_INPUT_OUTDATED
    assert notice.message.startswith("side input customers: customers/0.csv changed; the run keeps the version that it")


def test_rows_that_are_not_where_their_key_belongs_stay_in_the_reports_of_the_run(tmp_path):
    document = side_input_files.app(broadcast=True, onBrokenClaim="report")
    document["spec"]["operators"].append({"name": "visited", "from": "visits", "aggregate": AGGREGATE})
    document["spec"]["streams"]["totals"] = {"system": "hub", "partitions": 1}
    document["spec"]["operators"].append({"name": "counted", "from": "visited", "sendTo": "totals"})
    side_input_files.write(tmp_path, {"ann": "Oslo"}, {"bob": "Rome"})
    hub = side_input_files.Hub(tmp_path, document)
    elsewhere = 1 - partition_of("ann", 2)
    with hub.writer("visits") as writer:
        writer.send(Ssp("hub", "visits", elsewhere), b'{"customer": "ann", "n": 1}', timestamp=1)
        writer.commit()
    with LaunchedApp(tmp_path, document, COUNTS | {"totals": 1}) as app:
        assert eventually(lambda: app.progress and app.progress.broken_claims)
    assert app.progress.phase is DriverPhase.DRAINED
    (claim,) = app.progress.broken_claims
    assert claim.stream == "visits"
    assert claim.example == (
        f"hub.visits[{elsewhere}], offset 0: the row with key customer = 'ann' is in partition {elsewhere}, "
        f"but belongs in {1 - elsewhere} by murmur2 of it."
    )
    with app.restarted() as again:
        assert eventually(lambda: again.progress.phase is DriverPhase.RUNNING)
        assert again.progress.broken_claims == (claim,)


@pytest.mark.parametrize(
    ("superseded", "error", "phase"),
    [(False, RuntimeFailure, DriverPhase.FAILED), (True, Superseded, DriverPhase.STARTING)],
)
def test_a_failure_beside_a_successor_is_not_one_of_the_app(tmp_path, superseded, error, phase):
    document = side_input_files.app()
    side_input_files.write(tmp_path, {"ann": "Oslo"})
    side_input_files.Hub(tmp_path, document)
    app = LaunchedApp(tmp_path, document, ONE_FILE)

    def fail(_):
        if superseded:
            app.restarted()
        raise RuntimeFailure("the records were deleted before they were read")

    app.make_host = fail
    with pytest.raises(RuntimeFailure) as raised, app:
        assert eventually(lambda: app.failed)
    assert type(raised.value) is error
    assert app.progress.phase is phase


def test_processors_start_once_all_have_an_executor(tmp_path):
    document = side_input_files.app()
    side_input_files.write(tmp_path, {"ann": "Oslo"}, {"bob": "Rome"})
    app = LaunchedApp(tmp_path, document, COUNTS, processors=2)
    app.binding_seconds = 600.0
    hosts, started = [], []

    class Host(ThreadHost):
        def start(self, config):
            started.append(config.incarnation.version)
            return super().start(config)

    def make_host(channel):
        hosts.append(Host(channel))
        return hosts[-1]

    app.make_host = make_host
    with app:
        assert eventually(lambda: hosts)
        app.bind("0")
        app.bind("1")
        assert eventually(lambda: app.health.ready)
    assert started == [3, 3]


def test_a_driver_that_waits_for_executors_can_be_drained(tmp_path):
    app = LaunchedApp(tmp_path, side_input_files.app(), COUNTS)
    side_input_files.write(tmp_path, {"ann": "Oslo"}, {"bob": "Rome"})
    app.binding_seconds = 600.0
    with app:
        assert eventually(lambda: app.progress)
    assert app.progress.phase is DriverPhase.DRAINED
