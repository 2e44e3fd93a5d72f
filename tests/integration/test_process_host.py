"""Processes as the host: what goes wrong in a worker reaches the person who runs the app."""

import re

import pytest

from streamapp_runtime.errors import ProcessorFailed
from streamapp_runtime.hosts.process_host import ProcessHost
from support import apps


def make_host(channel, app, log_folder):
    return ProcessHost(channel, log_folder)


def test_a_function_that_fails_ends_the_run_at_once(tmp_path):
    document = apps.with_function(tmp_path, "def f(batch):\n    raise KeyError('delai')\n")
    with pytest.raises(ProcessorFailed, match=r"processor 0: .*function mine:f: KeyError: 'delai'"):
        apps.run(document, tmp_path, make_host)


def test_what_a_function_prints_goes_to_the_log(tmp_path):
    document = apps.with_function(tmp_path, "def f(batch):\n    print('seen', len(batch))\n    return batch\n")
    summary = apps.run(document, tmp_path, make_host)
    assert summary.written == {"out": 2}
    assert "seen 2" in (tmp_path / ".streamapp" / "app" / "processors.log").read_text()


def test_a_worker_that_dies_again_and_again_ends_the_run_with_the_cause(tmp_path):
    document = apps.with_function(tmp_path, "import os\n\n\ndef f(batch):\n    os._exit(7)\n")
    told = (
        r"processor 0 failed 6 times .* without progress; the last time: its process died \(exit code 7\); see .*\.log"
    )
    summaries = []
    with pytest.raises(ProcessorFailed, match=told):
        apps.run(document, tmp_path, make_host, listener=summaries.append)
    assert len(summaries[-1].incidents) == 5
    assert all(re.search("exit code 7", incident) for incident in summaries[-1].incidents)
