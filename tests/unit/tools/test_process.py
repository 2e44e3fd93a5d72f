"""Programs that are run end with whoever runs them."""

import subprocess
import sys
from pathlib import Path

import pytest
from tools.cluster.errors import ClusterError
from tools.cluster.process import attempt, run

from support.waiting import eventually

ROOT = Path(__file__).parents[3]
OWNER = "import sys; from tools.cluster.process import run; run(['sh', '-c', sys.argv[1]])"
COMMAND = "echo $$ > {file}; exec sleep 60"


def is_running(process):
    try:
        status = Path("/proc", process, "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the latter of one that ends meanwhile
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def written(file):
    return file.exists() and file.read_text().strip()


def test_a_program_is_given_its_input_and_gives_its_output_and_status():
    done = attempt(["sh", "-c", 'cat; echo "$1 $WORD" >&2; exit 7', "sh", "a b"], text="in", env={"WORD": "c"})
    assert (done.stdout, done.stderr, done.returncode) == ("in", "a b c\n", 7)


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(ClusterError, match="no program no-such-program"):
        run(["no-such-program"])


def test_what_takes_too_long_is_ended(tmp_path):
    file = tmp_path / "process"
    with pytest.raises(ClusterError, match="did not end in 1 s"):
        run(["sh", "-c", COMMAND.format(file=file)], timeout=1)
    assert eventually(lambda: not written(file) or not is_running(written(file)))


def test_nothing_runs_on_when_its_owner_is_killed(tmp_path):
    file = tmp_path / "process"
    with subprocess.Popen([sys.executable, "-c", OWNER, COMMAND.format(file=file)], cwd=ROOT) as owner:
        process = eventually(lambda: written(file))
        assert is_running(process)
        owner.kill()
    assert eventually(lambda: not is_running(process))
