"""The coordinator stream: which driver is the newest, and the job model for who has lost theirs."""

import json
from contextlib import closing

import pytest

from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import changelog_of
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.run_recovery import outdated_coordinators
from streamapp_runtime.errors import JobModelLost, Superseded
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.clock import system_clock
from streamapp_systems.coordinator_stream import DRIVER, DRIVER_KEY, MODEL, DriverRecord
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import Fenced, TransactionOwner
from streamapp_systems.registry import local_systems
from support import apps, job_models
from support.plan_documents import accepted

NOW = 1_700_000_000_000


def record(epoch, **fields):
    return DriverRecord(epoch=epoch, run_id="r1", made={"log": ["default.app.r1._changelog"]}, **fields)


def model_with(transactional_id, **fields):
    return job_models.example(**fields).model_copy(update={"transactional_ids": (transactional_id,)})


@pytest.fixture
def coordinator(tmp_path):
    app = parse_text(json.dumps(apps.stateless("file"))).app
    return Coordinator(app, "log", local_systems(tmp_path))


def test_before_the_first_driver_there_is_nothing(coordinator):
    assert coordinator.newest() is None
    assert coordinator.job_model() is None
    coordinator.raise_if_superseded(1)


def test_what_the_newest_driver_announced_is_what_others_find(coordinator):
    for epoch, version in ((1, 1), (1, 2), (2, 2)):
        model = job_models.example(version=version)
        coordinator.announce(record(epoch), model, system_clock())
        assert coordinator.newest() == record(epoch)
        assert coordinator.job_model() == model
    coordinator.raise_if_superseded(2)


def test_an_earlier_driver_learns_that_it_was_superseded(coordinator):
    coordinator.announce(record(5), model_with("default.app.r1.0"), system_clock())
    with pytest.raises(Superseded, match=r"epoch 5 of app \(run r1\) was started elsewhere"):
        coordinator.raise_if_superseded(4)
    with pytest.raises(Superseded, match="another driver of app has taken over"):
        coordinator.announce(record(4), model_with("default.app.r1.0", version=9), system_clock())
    assert coordinator.newest().epoch == 5
    assert coordinator.job_model() == model_with("default.app.r1.0")


def test_of_two_runs_that_chose_one_epoch_only_the_first_begins(coordinator):
    coordinator.announce(record(5), job_models.example(), system_clock())
    other = DriverRecord(epoch=5, run_id="r2", made={})
    with pytest.raises(Superseded, match=r"epoch 5 of app \(run r1\) was started elsewhere"):
        coordinator.announce(other, job_models.example(), system_clock())
    coordinator.announce(record(5), job_models.example(), system_clock())
    assert coordinator.newest() == record(5)


def test_the_first_driver_of_a_run_with_the_prefix_in_its_ids_fences_the_last_of_a_run_without(coordinator, tmp_path):
    before = model_with("app-r1-0")
    after = model_with("default.app.r2.0")
    coordinator.announce(record(1), before, system_clock())
    zombie = LogProducer(tmp_path / "log.db", [coordinator.stream], TransactionOwner(id="app-coordinator", epoch=1))
    with closing(zombie):
        zombie.send(Ssp("log", coordinator.stream.name, DRIVER), b"late", key=DRIVER_KEY, timestamp=NOW)
        coordinator.announce(record(2), after, system_clock())
        with pytest.raises(Fenced):
            zombie.commit()
    assert coordinator.newest() == record(2)
    newer = LogProducer(
        tmp_path / "log.db", [coordinator.stream], TransactionOwner(id="default.app._coordinator", epoch=2)
    )
    with closing(newer):
        newer.send(Ssp("log", coordinator.stream.name, DRIVER), b"late", key=DRIVER_KEY, timestamp=NOW)
        coordinator.announce(record(3), after, system_clock())
        with pytest.raises(Fenced):
            newer.commit()
    assert coordinator.newest() == record(3)


@pytest.mark.parametrize("owner", ["default.app._coordinator", "app-coordinator"])
def test_if_the_announced_job_model_is_unreadable_the_drivers_of_either_form_of_ids_are_fenced(
    coordinator, tmp_path, owner
):
    coordinator.announce(record(1), model_with("default.app.r1.0"), system_clock())
    writer = LogProducer(tmp_path / "log.db", [coordinator.stream], TransactionOwner(id="damage", epoch=1))
    with closing(writer):
        writer.send(Ssp("log", coordinator.stream.name, MODEL), b"{", key=POINTER.encode(), timestamp=NOW)
        writer.commit()
    zombie = LogProducer(tmp_path / "log.db", [coordinator.stream], TransactionOwner(id=owner, epoch=1))
    with closing(zombie):
        zombie.send(Ssp("log", coordinator.stream.name, DRIVER), b"late", key=DRIVER_KEY, timestamp=NOW)
        coordinator.announce(record(2), model_with("default.app.r1.0"), system_clock())
        with pytest.raises(Fenced):
            zombie.commit()
    assert coordinator.newest() == record(2)


def test_the_driver_of_a_run_under_another_prefix_learns_that_it_was_superseded(tmp_path):
    before, after = apps.stateless("file"), apps.stateless("file")
    after["spec"] |= {"namePrefix": "team", "runId": "r2"}
    systems = local_systems(tmp_path)
    old = Coordinator(parse_text(json.dumps(before)).app, "log", systems)
    old.announce(record(1), model_with("default.app.r1.0"), system_clock())
    plan = accepted(after, {"flights": 1})
    left = {"log": ["default.app._coordinator", "default.app.r1._changelog"]}
    run = RunRecord(run_id="r2", epoch=2, spec="{}", ends={}, files={}, made={}, outdated=left)
    (found,) = outdated_coordinators(run, plan, systems)
    found.supersede(record(2), system_clock())
    with pytest.raises(Superseded, match="epoch 2 of app"):
        old.raise_if_superseded(1, "r1")
    assert old.job_model() == model_with("default.app.r1.0")


def test_a_stream_that_no_driver_has_announced_itself_in_is_not_made(coordinator):
    coordinator.supersede(record(2), system_clock())
    assert coordinator.newest() is None


class TestLostFolder:
    """The folder of an app is gone, and its streams are there."""

    @pytest.fixture
    def document(self, tmp_path):
        (tmp_path / "flights").mkdir()
        (tmp_path / "flights" / "1.csv").write_text("carrier,delay\nAA,20\n")
        return apps.stateless("file")

    def leave(self, tmp_path, document, *, completed):
        """Run the app, then lose its folder."""
        if not completed:
            (tmp_path / "flights" / "2.csv").write_text("carrier,delay\nUA,many\n")
            with pytest.raises(Exception, match="is no double"):
                apps.run(document, tmp_path)
            (tmp_path / "flights" / "2.csv").unlink()
        else:
            apps.run(document, tmp_path)
        (tmp_path / ".streamapp").rename(tmp_path / "lost")

    def test_a_run_that_has_not_completed_is_not_replaced_silently(self, tmp_path, document):
        self.leave(tmp_path, document, completed=False)
        with pytest.raises(JobModelLost, match=r"run r1 of app has not completed.*_changelog.*--state-dir.*--fresh"):
            apps.run(document, tmp_path, fresh=False, run_id="r2")

    def test_fresh_starts_a_new_run_after_the_epochs_there_were_and_deletes_what_was_left(self, tmp_path, document):
        self.leave(tmp_path, document, completed=False)
        apps.run(document, tmp_path, run_id="r2")
        assert apps.rows(tmp_path / "out") == [("AA", "20")]
        app = parse_text(json.dumps(document)).app
        coordinator = Coordinator(app, "log", local_systems(tmp_path))
        assert coordinator.newest().epoch == 2
        assert coordinator.newest().completed
        with closing(LogAdmin(tmp_path / "log.db")) as admin:
            assert not admin.partitions([changelog_of(app, "r1", "log")])
            assert admin.partitions([changelog_of(app, "r2", "log")])

    def test_after_a_completed_run_a_new_one_begins(self, tmp_path, document):
        self.leave(tmp_path, document, completed=True)
        summary = apps.run(document, tmp_path, fresh=False, run_id="r2")
        assert summary.written == {"out": 1}

    def test_a_run_id_that_has_state_already_is_refused_whatever_was_said(self, tmp_path, document):
        self.leave(tmp_path, document, completed=True)
        document["spec"]["runId"] = "r1"
        with pytest.raises(JobModelLost, match=r"run r1 of app has state already.*with another spec\.runId"):
            apps.run(document, tmp_path)
