"""Location ids of executors, from their pods."""

import json

import pytest

from streamapp_core.spec.processors import Location, LocationBy, ProcessorsSpec
from streamapp_operator.decide.location_ids import PROVIDERS, find_location, find_location_id
from support.observed_values import executor

POD = executor(1, "node-a", claim="claim-1", container_id="containerd://1", labels={"rack": "r7"})


@pytest.mark.parametrize(
    "location, expected",
    [
        ({"by": "node"}, "node-a"),
        ({"by": "volume"}, "claim-1"),
        ({"by": "pod"}, "uid-1"),
        ({"by": "container"}, "containerd://1"),
        ({"by": "label", "label": "rack"}, "r7"),
        ({"by": "label", "label": "none"}, "any"),
    ],
)
def test_location_ids_come_from_the_pod(location, expected):
    assert find_location_id(POD, Location.model_validate_json(json.dumps(location))) == expected


@pytest.mark.parametrize("by", [LocationBy.NODE, LocationBy.VOLUME, LocationBy.CONTAINER])
def test_what_a_pod_does_not_have_yet_is_any_location(by):
    assert find_location_id(executor(1, None), Location(by=by)) == "any"


def test_every_kind_of_location_has_a_provider():
    assert set(PROVIDERS) == set(LocationBy)


@pytest.mark.parametrize(
    "processors, by",
    [
        ({"state": {"hostPath": "/state"}}, LocationBy.NODE),
        ({"state": {"emptyDir": {}}}, LocationBy.POD),
        ({"state": {"volumeClaim": {"size": "1Gi"}}}, LocationBy.VOLUME),
        ({"state": {"hostPath": "/state"}, "location": {"by": "label", "label": "rack"}}, LocationBy.LABEL),
    ],
    ids=["hostPath", "emptyDir", "volumeClaim", "as the spec says"],
)
def test_what_holds_the_state_tells_where_it_is(processors, by):
    assert find_location(ProcessorsSpec.model_validate_json(json.dumps(processors))).by is by
