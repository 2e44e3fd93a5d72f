"""Kill an app between the commit of its log and that of its stores: no update of a table is lost.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_KILL_RUNS for more.
"""

import json
import os
from random import Random

import pytest

from support import apps, crashes, side_input_files, side_input_tables, visits, waiting

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


def die_while_customers_visit(folder, hub, place, names=visits.NAMES):
    """Run an app until it dies at a fail point."""
    process = crashes.start(folder, "--host", "in-process", **{visits.VARIABLE: place})
    assert waiting.eventually(lambda: hub.visit(*names) or process.poll() is not None)
    crashes.kill_group(process)


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_table_that_is_written_anew_between_the_deaths_of_an_app_is_taken_as_a_whole(tmp_path, seed):
    random = Random(10_000 + seed)
    kind = side_input_tables.KINDS[seed % 3]
    table = {"refresh": "50ms", "persistent": seed % 2 == 0}
    document = side_input_tables.app(kind, table=table, processors=random.choice([1, 2]))
    hub, customers = side_input_files.Hub(tmp_path, document), side_input_tables.Customers(tmp_path, kind)
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    names = side_input_tables.TOGETHER
    hub.visit(*names)
    for version in range(1, 4):
        customers.write(dict.fromkeys(names, f"v{version}"))
        customers.forget()
        die_while_customers_visit(tmp_path, hub, f"{random.choice(visits.BETWEEN)}:{random.randint(1, 6)}", names)
    apps.run_until(tmp_path, document, lambda: hub.visit(*names, n=9) or "v3" in {city for _, city in hub.cities(9)})
    (messages,) = (found for found in hub.messages("out").values() if found)
    found = [json.loads(message.value)["city"] for message in messages]
    assert found == sorted(found), "a task went back to an older version"


@pytest.mark.parametrize("seed", range((RUNS + 1) // 2))
def test_a_file_that_changes_between_the_deaths_of_an_app_is_taken_as_a_whole(tmp_path, seed):
    random = Random(9_000 + seed)
    document = side_input_files.app(table={"bootstrap": True}, broadcast=seed % 2 == 0, files=1, processors=2)
    hub = side_input_files.Hub(tmp_path, document)
    (tmp_path / "app.yaml").write_text(json.dumps(document))
    hub.visit(*visits.NAMES)
    for version in range(2):
        cities = {name: f"{random.choice(['Oslo', 'Rome'])}-{version}" for name in random.sample(visits.NAMES, 30)}
        side_input_files.write(tmp_path, cities)
        die_while_customers_visit(tmp_path, hub, f"{random.choice(visits.BETWEEN)}:{random.randint(1, 3)}")
    expected = {(name, cities.get(name)) for name in visits.NAMES}
    apps.run_until(tmp_path, document, lambda: hub.visit(*visits.NAMES, n=9) or hub.cities(9) == expected)
