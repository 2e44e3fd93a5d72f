import subprocess
import sys
from pathlib import Path

from tools.scratch import Scratch

ROOT = Path(__file__).parents[3]
OWNER = """
import sys
from pathlib import Path
from tools.scratch import Scratch
scratch = Scratch("it-", within=Path(sys.argv[1]))
(scratch.folder / "file").touch()
print(scratch.folder, flush=True)
sys.stdin.read()
"""


def another(within):
    """Make a folder; give its name."""
    scratch = Scratch("it-", within=within, young=0)
    assert scratch.folder.is_dir()
    scratch.close()
    assert not scratch.folder.exists()


def test_what_a_killed_process_has_left_goes_and_what_is_in_use_stays(tmp_path):
    command = [sys.executable, "-c", OWNER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        folder = Path(owner.stdout.readline().strip())
        another(tmp_path)
        assert (folder / "file").exists()
        owner.kill()
    another(tmp_path)
    assert not folder.exists()


def test_a_folder_that_is_new_may_have_an_owner_and_others_are_not_ours(tmp_path):
    for name in ("it-new", "other"):
        (tmp_path / name).mkdir()
    Scratch("it-", within=tmp_path).close()
    assert {path.name for path in tmp_path.iterdir()} == {"it-new", "other"}
