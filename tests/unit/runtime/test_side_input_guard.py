"""The guard of side inputs: nothing that was read of a file under change reaches a table."""

import os

import pytest

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import SideInputChanged
from streamapp_runtime.processor.side_input_guard import GuardedFile, SideInputGuard
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_systems.file import take_file_version
from streamapp_systems.protocols import StreamSystemError, VersionGone

SSP = Ssp("files", "customers", 0)
OTHER = Ssp("files", "orders", 0)


class Inputs:
    """An input source that does something to the file while it reads."""

    def __init__(self, meanwhile, error=None):
        self.meanwhile, self.error = meanwhile, error

    def poll(self, ssps, max_rows, timeout):
        self.meanwhile()
        if self.error is not None:
            raise self.error
        for ssp in ssps:
            yield DecodedBatch(ssp=ssp, next_offset=1, rows=None)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    return path


def guard(path, meanwhile, error=None, version=None):
    files = {SSP: GuardedFile(path=path, version=version or take_file_version("a.csv", path))}
    return SideInputGuard(Inputs(meanwhile, error), files)


def test_rows_of_a_file_that_stays_pass(path):
    (batch,) = guard(path, lambda: None).poll([SSP], 1, 0)
    assert batch.ssp == SSP


@pytest.mark.parametrize("change", [lambda path: path.write_text("newer"), lambda path: path.unlink()])
def test_rows_that_were_read_while_the_file_changed_do_not_pass(path, change):
    with pytest.raises(
        SideInputChanged, match=r"side input customers: .*a\.csv has changed while the run was reading it"
    ):
        list(guard(path, lambda: change(path)).poll([SSP], 1, 0))


def test_an_error_of_a_file_that_changed_is_the_change(path):
    with pytest.raises(SideInputChanged):
        list(guard(path, lambda: path.write_text("torn"), StreamSystemError("short")).poll([SSP], 1, 0))
    with pytest.raises(StreamSystemError, match="short"):
        list(guard(path, lambda: None, StreamSystemError("short")).poll([SSP], 1, 0))


def test_a_version_that_is_gone_is_a_change(path):
    with pytest.raises(SideInputChanged, match=r"snapshot 7 has expired\. All processors start again with the version"):
        list(guard(path, lambda: None, VersionGone("snapshot 7 has expired")).poll([OTHER], 1, 0))


def test_other_partitions_are_not_checked(path):
    (batch,) = guard(path, lambda: path.write_text("newer")).poll([OTHER], 1, 0)
    assert batch.ssp == OTHER


def test_the_content_decides_where_the_time_differs(path):
    version = take_file_version("a.csv", path)
    os.utime(path, (1, 1))
    assert list(guard(path, lambda: None, version=version).poll([SSP], 1, 0))
    path.write_text("new")
    with pytest.raises(SideInputChanged):
        guard(path, lambda: None, version=version)
