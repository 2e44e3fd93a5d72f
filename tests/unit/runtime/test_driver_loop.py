"""The driver's loop with ports that obey the test: what it asks for and reports at its turns, and how it ends."""

import time
from concurrent.futures import Future

import pytest

from streamapp_runtime.driver.driver_loop import DriverLoop, Epoch
from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.processor.driver_channel import Command
from streamapp_runtime.processor.processor_report import ProcessorReport
from support.supervision import planned, scaled, tasks_of


class Stage:
    """The host, the authority and both ports of a loop. Each report of progress is a turn, in which `act` may act."""

    def __init__(self, folder, act):
        self.registry = ReportRegistry(time.monotonic)
        self.configs, self.futures, self.log = {}, {}, []
        self.change = None
        self.draining = False
        self.progress = []
        self._act = act
        record = RunRecord(run_id="r1", epoch=4, spec="{}", ends={"in": {0: 9}}, files={}, made={}, outdated={})
        self.epoch = Epoch(
            run=planned(partitions=2),
            record=record,
            text="the app",
            folder=folder,
            state_folder="state",
            started=time.monotonic(),
            stop_seconds=0.0,
            timeouts=Timeouts(),
            turn_seconds=0.001,
        )

    def run(self):
        with DriverLoop(self.epoch, self, self, self.registry, job_models=self, listener=self) as loop:
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
    assert not final.incidents
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
            assert progress.incidents == ("processor 0 is restarted: its process died",)
            stage.end(2, done=True)
            stage.end(3, done=True)

    stage = Stage(tmp_path, act)
    assert stage.run().incidents
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
