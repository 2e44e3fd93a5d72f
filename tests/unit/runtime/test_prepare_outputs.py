"""Output folders at the start of a run: emptied, whatever zombies publish, and whenever this driver dies or stops."""

import json
import sys
import threading
from contextlib import suppress

import pyarrow as pa
import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.driver.prepare_outputs import prepare_outputs, remove_uncommitted_parts
from streamapp_runtime.errors import Superseded
from streamapp_systems.file import FileOutput, Rolling
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from streamapp_systems.registry import local_systems
from support import apps

OUT = StreamDescriptor(name="out", system="files", address="out/out", format=StreamFormat.CSV)
STEPS = {"os.remove", "os.listdir", "os.scandir"}
MOST_STEPS = 20
JOINING = {"open", "os.rename", "os.remove", "os.mkdir"}
MOST_JOINING = 12


class Death(BaseException):
    """The driver dies."""


class _Steps:
    """Counts this process's accesses to folders; at one of them something happens. Audit hooks can't be removed."""

    def __init__(self):
        self.left, self.act = 0, None
        sys.addaudithook(self._pass)

    def at(self, step, act):
        self.left, self.act = step, act

    def _pass(self, event, _):
        if self.act is not None and event in STEPS:
            self.left -= 1
            if self.left == 0:
                act, self.act = self.act, None
                act()


steps = _Steps()


@pytest.fixture(autouse=True)
def unwatched():
    yield
    steps.act = None


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planned")
    apps.write_stream(folder, "rows", "k", ["a"])
    app = apps.document([{"name": "sent", "from": "rows", "sendTo": "out"}], rows={"schema": "k string"}, out={})
    return plan_new_run(parse_text(json.dumps(app)), local_systems(folder), "r1", "here").plan


class Writer:
    """The output of a worker."""

    def __init__(self, folder, writer):
        self._output = FileOutput(folder, [OUT], writer)
        self._parts = []

    def stage(self):
        self._output.write("out", pa.table({"k": ["a"]}))
        self._parts += self._output.stage()

    def publish(self):
        for part in self._parts:
            with suppress(StreamSystemError):
                self._output.publish([part])


def parts(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("part-*"))


def zombie(folder):
    """Return a worker of an earlier run that stands still with two parts committed, and published one before."""
    writer = Writer(folder, "1-1")
    writer.stage()
    writer.publish()
    writer.stage()
    writer.stage()
    return writer


def superseded():
    raise Superseded("epoch 2 was started elsewhere")


@pytest.mark.parametrize("step", range(1, MOST_STEPS))
def test_whatever_a_zombie_publishes_while_a_folder_is_emptied_goes(tmp_path, plan, step):
    prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    worker = zombie(tmp_path)
    steps.at(step, worker.publish)
    prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    worker.publish()
    assert parts(tmp_path) == []


@pytest.mark.parametrize("step", range(1, MOST_STEPS))
def test_after_a_death_at_any_step_nothing_of_earlier_runs_is_left(tmp_path, plan, step):
    def die():
        raise Death

    prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    worker = zombie(tmp_path)
    steps.at(step, die)
    with suppress(Death):
        prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    steps.act = None
    worker.publish()
    prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    worker.publish()
    assert parts(tmp_path) == []


def test_a_driver_that_is_not_the_newest_removes_nothing(tmp_path, plan):
    prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    zombie(tmp_path)
    before = parts(tmp_path)
    for remove in (prepare_outputs, remove_uncommitted_parts):
        with pytest.raises(Superseded):
            remove(plan, local_systems(tmp_path), superseded)
    assert parts(tmp_path) == before


@pytest.mark.parametrize("remove", [prepare_outputs, remove_uncommitted_parts])
def test_one_that_is_paused_after_its_check_leaves_the_parts_of_its_successor(tmp_path, plan, remove):
    prepare_outputs(plan, local_systems(tmp_path), lambda: None)
    zombie(tmp_path)
    later = Writer(tmp_path, "2-1")

    def pause():
        later.publish()
        later.stage()
        later.stage()

    remove(plan, local_systems(tmp_path), pause)
    later.publish()
    left = parts(tmp_path / "out" / "out")
    assert {"part-2-1-0.csv", "part-2-1-1.csv"} <= set(left)
    assert (remove is prepare_outputs) == (not any("part-1-" in name for name in left))


class PausedZombie(threading.Thread):
    """A worker of an earlier run that publishes two parts as one file, and stands still at one of its steps."""

    def __init__(self, folder, step):
        super().__init__()
        self._output = FileOutput(folder, [OUT], "1-1", Rolling(seconds=60.0, size=1 << 30))
        self._parts = []
        for _ in range(2):
            self._output.write("out", pa.table({"k": ["a"]}))
            self._parts += self._output.stage()
        self._left = step
        self.paused, self.go_on = threading.Event(), threading.Event()

    def run(self):
        with suppress(StreamSystemError):
            self._output.publish(self._parts)
        self.paused.set()

    def pass_step(self):
        self._left -= 1
        if self._left == 0:
            self.paused.set()
            assert self.go_on.wait(60)

    def run_to_its_step(self):
        self.start()
        assert self.paused.wait(60)


def _pass_step_of_zombie(event, _):
    zombie = threading.current_thread()
    if isinstance(zombie, PausedZombie) and event in JOINING:
        zombie.pass_step()


sys.addaudithook(_pass_step_of_zombie)


@pytest.mark.parametrize("step", range(1, MOST_STEPS))
def test_whatever_a_zombie_joins_while_a_folder_is_emptied_goes(tmp_path, plan, step):
    for paused_at in range(1, MOST_JOINING):
        folder = tmp_path / str(paused_at)
        prepare_outputs(plan, local_systems(folder), lambda: None)
        worker = PausedZombie(folder, paused_at)
        steps.at(step, worker.run_to_its_step)
        prepare_outputs(plan, local_systems(folder), lambda: None)
        steps.act = None
        if not worker.ident:
            worker.run_to_its_step()
        worker.go_on.set()
        worker.join()
        assert parts(folder) == [], paused_at
