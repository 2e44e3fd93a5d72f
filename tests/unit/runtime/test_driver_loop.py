"""The driver's loop with ports that obey the test: what it asks for and reports at its turns, and how it ends."""

import time
from concurrent.futures import Future

import pytest

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_runtime.driver.build_run_record import build_new_record
from streamapp_runtime.driver.driver_loop import DriverLoop, Epoch
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import ProcessorLost, RuntimeFailure, SideInputChanged
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_systems.registry import local_systems
from support import plan_documents, side_input_files
from support.supervision import planned, scaled, tasks_of


class Stage:
    """The host, the authority and both ports of a loop. Each report of progress is a turn, in which `act` may act."""

    def __init__(self, folder, act, run=None, record=None):
        self.registry = ReportRegistry(time.monotonic)
        self.configs, self.futures, self.log = {}, {}, []
        self.change = None
        self.draining = False
        self.progress = []
        self._act = act
        record = record or RunRecord(
            run_id="r1", epoch=4, spec="{}", ends={"in": {0: 9}}, files={}, made={}, outdated={}
        )
        self._context = local_context(folder)
        self.epoch = Epoch(
            run=run or planned(partitions=2),
            record=record,
            text="the app",
            state_folder="state",
            started=time.monotonic(),
            stop_seconds=0.0,
            timeouts=Timeouts(),
            turn_seconds=0.001,
        )

    def run(self):
        with DriverLoop(self.epoch, self._context, self, self, self.registry, job_models=self, listener=self) as loop:
            return loop.run(lambda: self.draining)

    # the host
    def start(self, config):
        number = config.incarnation.number
        self.configs[number], self.futures[number] = config, Future()
        return self.futures[number]

    def cancel(self, incarnation):
        self.log.append(f"cancel {incarnation.number}")

    # the authority
    def activate_job_model(self, run):
        self.log.append(f"activate v{run.model.version}")

    def fence(self, processors):
        self.log.append("fence " + " ".join(sorted(processors)))

    def save(self, record):
        self.log.append("save")
        self.saved = record

    # the ports
    def poll(self, current):
        self.log.append("poll")
        change, self.change = self.change, None
        return change

    def report(self, progress):
        self.progress.append(progress)
        assert len(self.progress) < 10_000
        self._act(self, progress)

    # what tests do
    def worker_reports(self, number, **fields):
        return self.registry.report(self._report(number, **fields))

    def end(self, number, **fields):
        if not self.futures[number].done():
            self.futures[number].set_result(self._report(number, **fields))

    def _report(self, number, **fields):
        return ProcessorReport(incarnation=self.configs[number].incarnation, opened=True, **fields)


def test_a_run_ends_when_all_inputs_have_ended_and_its_progress_is_reported_until_then(tmp_path):
    def act(stage, progress):
        if len(stage.progress) == 1:
            assert not progress.living
            stage.worker_reports(1, written={"out": 1})
        elif len(stage.progress) == 2:
            assert progress.living.keys() == {"0"}
            assert progress.summary.written == {"out": 1}
            stage.end(1, written={"out": 3}, done=True)
            stage.end(2, written={"out": 4}, done=True)

    stage = Stage(tmp_path, act)
    final = stage.run()
    assert final.summary.written == {"out": 7}
    assert final.run == stage.epoch.run
    assert not final.summary.incidents
    config = stage.configs[1]
    assert (config.app, config.state_folder, config.ends, config.incarnation.epoch) == (
        "the app",
        "state",
        {"in": {0: 9}},
        4,
    )


def test_the_job_model_of_the_source_takes_over_and_no_other_is_asked_for_meanwhile(tmp_path):
    asked = []

    def act(stage, progress):
        version = progress.run.model.version
        if len(stage.progress) == 1:
            stage.worker_reports(1)
            stage.worker_reports(2)
            stage.change = scaled(progress.run, 1)
        elif version == 1 and "activate v2" in stage.log:
            asked.append(stage.log.count("poll"))
            for number in (1, 2):
                if stage.futures[number].done() or stage.worker_reports(number) is Command.DRAIN:
                    stage.end(number)
        elif version == 2:
            stage.end(3, done=True)

    stage = Stage(tmp_path, act)
    final = stage.run()
    assert final.run.model.version == 2
    assert len(tasks_of(stage.configs[3])) == 2
    assert set(asked) == {asked[0]}
    assert [entry for entry in stage.log if entry != "poll"] == ["activate v2", "fence 0 1"]


def test_a_processor_that_dies_is_restarted_and_that_is_an_incident_of_the_run(tmp_path):
    def act(stage, progress):
        if len(stage.progress) == 1:
            stage.futures[1].set_exception(ProcessorLost("its process died"))
        elif 3 in stage.configs:
            assert progress.summary.incidents == ("processor 0 is restarted: its process died",)
            stage.end(2, done=True)
            stage.end(3, done=True)

    stage = Stage(tmp_path, act)
    assert stage.run().summary.incident_count == 1
    assert "fence 0" in stage.log


def test_a_drained_run_has_no_final_progress_and_is_offered_no_job_model(tmp_path):
    def act(stage, progress):
        if len(stage.progress) == 1:
            stage.draining = True
            stage.log.clear()
        elif progress.draining:
            for number in (1, 2):
                stage.end(number)

    stage = Stage(tmp_path, act)
    assert stage.run() is None
    assert stage.log == []


def test_an_error_stops_the_processors(tmp_path):
    def act(stage, _):
        assert stage.worker_reports(1) is Command.RUN
        raise KeyboardInterrupt

    stage = Stage(tmp_path, act)
    with pytest.raises(KeyboardInterrupt):
        stage.run()
    assert [stage.worker_reports(number) for number in (1, 2)] == [Command.STOP, Command.STOP]


class TestSideInputs:
    """The customers of visits come from a file, and the loop of a driver that never looks, but when it must."""

    @pytest.fixture
    def path(self, tmp_path):
        side_input_files.write(tmp_path, {"ann": "Oslo"})
        return tmp_path / "customers" / "0.csv"

    @pytest.fixture
    def stage(self, tmp_path, path):
        def start(act, **table):
            document = side_input_files.app(table=table, files=1, partitionMonitor={"enabled": False})
            plan = plan_documents.accepted(document, {"visits": 1, "customers": 1, "out": 1})
            run = PlannedRun(plan=plan, model=build_job_model(plan, None, {"0": "here", "1": "here"}), counts={})
            return Stage(tmp_path, act, run=run, record=build_new_record(run, local_systems(tmp_path), 4, None, ()))

        return start

    @pytest.mark.parametrize("refresh", ["20ms", None])
    def test_new_versions_are_read_by_all_processors_once_the_record_has_them(self, tmp_path, stage, path, refresh):
        def act(stage, _):
            if "written" not in stage.log:
                stage.log.append("written")
                side_input_files.write(tmp_path, {"ann": "Bergen", "bob": "Rome"})
                if refresh is None:
                    stage.futures[1].set_exception(SideInputChanged("customers/0.csv has changed"))
            for number, future in list(stage.futures.items()):
                if future.done():
                    continue
                config = stage.configs[number]
                command = stage.worker_reports(number)
                if command is Command.DRAIN:
                    stage.log.append("drained")
                    stage.end(number)
                elif config.ends["customers"] == {0: 2}:
                    stage.end(number, done=True)
                elif config.incarnation.number > 2:
                    future.set_exception(SideInputChanged("customers/0.csv has changed"))

        started = stage(act, **({"refresh": refresh} if refresh else {}))
        final = started.run()
        assert final.record == started.saved
        assert final.record.side_inputs != started.epoch.record.side_inputs
        assert final.record.files["customers"] == ["customers/0.csv"]
        assert [notice.message for notice in final.summary.notices] == [
            "side input customers: customers/0.csv changed; filled again from the new version: customer"
        ]
        versions = {number: config.side_inputs for number, config in started.configs.items()}
        last = sorted(versions)[-2:]
        assert [versions[number] for number in last] == [final.record.side_inputs] * 2
        assert started.log.index("save") > started.log.index("drained")
        assert "fence 0 1" in started.log

    def test_a_file_that_is_gone_for_good_ends_the_run_with_what_to_do(self, stage, path):
        def act(stage, _):
            path.unlink(missing_ok=True)
            for number in (number for number, future in list(stage.futures.items()) if not future.done()):
                if number == 2:
                    stage.worker_reports(number)
                else:
                    stage.futures[number].set_exception(SideInputChanged("customers/0.csv has changed"))

        with pytest.raises(RuntimeFailure, match=r"it had 1 files and has 0 \(none\).*--fresh"):
            stage(act).run()
