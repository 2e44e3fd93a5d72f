"""An administrator's defaults: where they go, what they never touch, and what can't be one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.spec_defaults import MERGEABLE, merge_defaults, parse_defaults

STATE = {"volumeClaim": {"storageClassName": "fast", "size": "10Gi"}}
TOLERANT = {"spec": {"tolerations": [{"operator": "Exists"}], "containers": [{"name": "driver", "tty": True}]}}
WRITTEN = {"spec": {"nodeSelector": {"a": "b"}, "containers": [{"name": "driver", "stdin": True}]}}
MERGED = {
    "spec": {
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"a": "b"},
        "containers": [{"name": "driver", "tty": True, "stdin": True}],
    }
}


@pytest.mark.parametrize(
    "defaults, spec, merged, taken",
    [
        ({"image": "i"}, {}, {"image": "i"}, {"image": "i"}),
        ({"image": "i"}, {"image": "mine"}, {"image": "mine"}, {}),
        ({"image": "i"}, {"image": None}, {"image": "i"}, {"image": "i"}),
        (
            {"imagePullSecrets": [{"name": "s"}]},
            {"imagePullSecrets": []},
            *2 * ({"imagePullSecrets": [{"name": "s"}]},),
        ),
        ({"driver": {"cores": 2}}, {}, *2 * ({"driver": {"cores": 2}},)),
        (
            {"driver": {"cores": 2, "memory": "2Gi"}},
            {"driver": {"memory": "1Gi"}},
            {"driver": {"cores": 2, "memory": "1Gi"}},
            {"driver": {"cores": 2}},
        ),
        ({"driver": {"cores": 2}}, {"driver": {"cores": 1}}, {"driver": {"cores": 1}}, {}),
        ({"driver": {"template": TOLERANT}}, {"driver": {"template": {}}}, *2 * ({"driver": {"template": TOLERANT}},)),
        (
            {"driver": {"template": TOLERANT}},
            {"driver": {"template": WRITTEN}},
            {"driver": {"template": MERGED}},
            {"driver": {"template": TOLERANT}},
        ),
        (
            {"processors": {"state": STATE}},
            {"processors": {"state": {"emptyDir": {}}, "count": 3}},
            {"processors": {"state": {"emptyDir": {}}, "count": 3}},
            {},
        ),
        (
            {"spark": {"ui": {"port": 4041}}},
            {"spark": {"ui": {}, "packages": []}},
            {"spark": {"ui": {}, "packages": []}},
            {},
        ),
        ({"upgrade": {"rollBack": False}}, {"upgrade": {"rollBack": True}}, {"upgrade": {"rollBack": True}}, {}),
        ({"driver": {"cores": 2}}, {"driver": 7}, {"driver": 7}, {}),
    ],
)
def test_a_default_is_below_what_a_spec_says(defaults, spec, merged, taken):
    assert merge_defaults(parse_defaults(defaults), spec) == (merged, taken)


@pytest.mark.parametrize(
    "defaults, said",
    [
        ([], "as an object"),
        ({"runId": "r"}, "no default for runId, but only for driver.cores"),
        ({"processors": {"count": 2, "location": {"by": "node"}}}, "processors.count, processors.location"),
        ({"deletionPolicy": "Delete"}, "deletionPolicy"),
        ({"job": {"delivery": "atLeastOnce"}}, "job.delivery"),
        ({"driver": {"memory": "2 gigabytes"}, "upgrade": {"deadline": 5}}, "spec.upgrade.deadline"),
        ({"driver": 7}, "spec.driver"),
    ],
)
def test_what_can_be_no_default_is_refused_by_its_name(defaults, said):
    with pytest.raises(ValueError, match=said):
        parse_defaults(defaults)


FIELDS = {
    "image": st.sampled_from(["a", "b"]),
    "job": st.fixed_dictionaries({}, optional={"commitInterval": st.sampled_from(["1s", "2s"])}),
    "driver": st.fixed_dictionaries(
        {},
        optional={
            "cores": st.integers(1, 3),
            "template": st.fixed_dictionaries(
                {}, optional={"metadata": st.dictionaries(st.sampled_from("ab"), st.integers(0, 2))}
            ),
        },
    ),
}
PARTS = st.fixed_dictionaries({}, optional=FIELDS)


@given(PARTS, st.fixed_dictionaries({}, optional={**FIELDS, "runId": st.just("r")}))
def test_what_is_taken_alone_gives_the_same_and_nothing_written_is_lost(defaults, spec):
    merged, taken = merge_defaults(defaults, spec)
    assert merge_defaults(taken, spec)[0] == merged
    assert merge_defaults(defaults, merged)[0] == merged
    assert contains(merged, spec)
    assert taken.keys() <= MERGEABLE.keys()


def contains(whole, part):
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and contains(whole[name], part[name]) for name in part)
    return whole == part
