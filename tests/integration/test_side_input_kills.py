"""Kill an app between the commit of its log and that of its stores: no update of a table is lost.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_KILL_RUNS for more.
"""

import os
from random import Random

import pytest

from support import visits

RUNS = int(os.environ.get("STREAMAPP_KILL_RUNS", "4"))


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_killed_app_loses_no_update_of_its_table(tmp_path, seed):
    random = Random(6_000 + seed)
    document = visits.app(
        table={"bootstrap": seed % 2 == 0},
        customers={"broadcast": seed % 4 >= 2},
        visits={"bounded": False},
        processors=random.choice([1, 2]),
    )
    visits.kill_and_check(tmp_path, document, random)


@pytest.mark.parametrize("broadcast", [False, True])
def test_an_app_killed_at_its_first_commit_loses_no_update_of_its_table(tmp_path, broadcast):
    document = visits.app(table={"bootstrap": False}, customers={"broadcast": broadcast}, visits={"bounded": False})
    life = visits.Life(tmp_path, document, Random(8_000))
    life.hub.move(**dict.fromkeys(visits.NAMES, "Lima"))
    life.die("commit-3:after:1", lambda: None)
    life.check_complete()
