"""Where a run begins to read."""

import json

import pytest

from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.driver.read_positions import start_offsets
from streamapp_runtime.errors import PlanRefused
from streamapp_systems.registry import local_systems
from support import apps, start_from
from support.growth import Growing

LOG = {"log": {"path": "log.db"}}


def test_from_latest_what_comes_after_the_first_start_is_read_once_after_restarts_and_growth_too(tmp_path):
    start_from.play(Growing(tmp_path, LOG))


@pytest.mark.parametrize(
    ("change", "why"),
    [({"bounded": True}, "it is bounded"), ({"controlMessages": True, "format": "arrow"}, "of another app")],
)
def test_streams_that_must_be_read_from_their_beginning_are_named(tmp_path, change, why):
    document = Growing(tmp_path, LOG).document()
    document["spec"]["streams"]["in"] |= {"startFrom": "latest", **change}
    with pytest.raises(PlanRefused, match=rf"spec\.streams\.in\.startFrom: .*{why}"):
        apps.run(document, tmp_path)


def test_what_a_run_knows_of_its_inputs_stays_and_others_begin_where_they_are(tmp_path):
    source = Growing(tmp_path, LOG)
    source.write(0, 1, 4, count=4)
    document = source.document()
    document["spec"]["streams"]["in"]["startFrom"] = "latest"
    plan = plan_new_run(parse_text(json.dumps(document)), local_systems(tmp_path), "r1", "here").plan
    assert start_offsets(plan, local_systems(tmp_path), {}, {}) == {"in": {0: 2, 1: 1, 2: 0, 3: 0}}
    assert start_offsets(plan, local_systems(tmp_path), {"in": {0: 1}, "gone": {0: 9}}, {}) == {"in": {0: 1}}
    assert start_offsets(plan, local_systems(tmp_path), {"in": {}}, {}) == {"in": {}}
