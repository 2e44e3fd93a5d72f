"""A driver that stands still at a step of its run, and goes on when its successor has taken over, changes nothing."""

import json

import msgspec
import pyarrow as pa
import pytest

from streamapp_core.metadata_store import InMemoryMetadataStore
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.driver.build_run_record import build_new_record
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.driver.run_record import load_record, save_record
from streamapp_runtime.driver.run_steps import begin_epoch, complete_run, create_run
from streamapp_runtime.errors import Superseded
from streamapp_runtime.execution_context import local_context
from streamapp_systems.file import FileOutput
from streamapp_systems.protocols import StreamDescriptor
from support import apps

OUT = StreamDescriptor(name="out", system="files", address="out/out", format=StreamFormat.CSV)


class Drivers:
    """The drivers of one run, which share its documents."""

    def __init__(self, folder):
        apps.write_stream(folder, "rows", "k", ["a"])
        app = apps.document([{"name": "sent", "from": "rows", "sendTo": "out"}], rows={"schema": "k string"}, out={})
        self.folder, self.store, self.context = folder, InMemoryMetadataStore(), local_context(folder)
        self.deleted = []
        self._run = plan_new_run(parse_text(json.dumps(app)), self.context.systems, "r1", "here")
        self._record = build_new_record(self._run, self.context.systems, 1, None, ())

    def begin(self, epoch):
        """Take the steps run-1 and run-2."""
        record = msgspec.structs.replace(self._record, epoch=epoch)
        begin_epoch(record, self._run, self.store, self.context)
        return record

    def create(self, record):
        """Take step run-3."""

        def delete_previous(record, check):
            check()
            self.deleted.append(record.epoch)

        return create_run(record, self._run, self.store, self.context, delete_previous)

    def complete(self, record):
        """Take step run-4."""
        complete_run(record, self._run, self.store, self.context)

    def write(self, epoch):
        """Publish a part as a worker of this epoch, and stage another one."""
        output = FileOutput(self.folder, [OUT], f"{epoch}-1")
        for publish in (True, False):
            output.write("out", pa.table({"k": ["a"]}))
            staged = output.stage()
            if publish:
                output.publish(staged)

    @property
    def parts(self):
        return sorted(path.name for path in self.folder.rglob("part-*"))


@pytest.fixture
def drivers(tmp_path):
    return Drivers(tmp_path)


def test_one_that_was_paused_after_its_fence_clears_nothing_of_its_successor(drivers):
    paused = drivers.begin(1)
    drivers.create(drivers.begin(2))
    drivers.write(2)
    with pytest.raises(Superseded, match="epoch 2 of app"):
        drivers.create(paused)
    assert drivers.deleted == [2]
    assert drivers.parts == ["part-2-1-0.csv", "part-2-1-1.csv"]
    assert load_record(drivers.store).epoch == 2


def test_one_that_was_paused_at_the_end_of_its_run_clears_nothing_of_its_successor(drivers):
    paused = drivers.create(drivers.begin(1))
    drivers.create(drivers.begin(2))
    drivers.write(2)
    with pytest.raises(Superseded, match="epoch 2 of app"):
        drivers.complete(paused)
    assert drivers.parts == ["part-2-1-0.csv", "part-2-1-1.csv"]


def test_the_record_of_a_later_driver_stays(drivers):
    later = drivers.begin(2)
    for stale in (1, 0):
        with pytest.raises(Superseded, match=rf"epoch 2 \(run r1\) was started elsewhere: the driver of epoch {stale}"):
            save_record(drivers.store, msgspec.structs.replace(later, epoch=stale, prepared=True))
    assert load_record(drivers.store) == later


def test_a_record_that_changes_while_it_is_written_is_read_again(drivers):
    record = drivers.begin(1)

    class Overtaken(InMemoryMetadataStore):
        """A store in which a later driver writes between a read and the write that follows."""

        def put(self, key, value, expected=None):
            if self.later is not None:
                later, self.later = self.later, None
                save_record(self, later)
            return super().put(key, value, expected)

        later = msgspec.structs.replace(record, epoch=2)

    store = Overtaken()
    with pytest.raises(Superseded):
        save_record(store, record)
    assert load_record(store).epoch == 2
