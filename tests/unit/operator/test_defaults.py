"""Defaults of a cluster: an app takes them when it is created or edited, and nothing else changes it."""

import pytest

from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.operated import SPEC, Operated

BARE = {name: value for name, value in SPEC.items() if name != "image"}
FIRST, SECOND = "registry.invalid/first:1", "registry.invalid/second:1"


def started(defaults, operated=None):
    """Start an operator with defaults, after another one if there is one."""
    operated = operated or Operated()
    operated.defaults = defaults
    operated.start()
    return operated


def image(operated):
    """Return the driver's pod and its image."""
    (pod,) = operated.pods()
    return pod, image_of(operated, pod)


def image_of(operated, pod):
    return operated.cluster.get(Kind.POD, "default", pod)["spec"]["containers"][0]["image"]


@pytest.fixture
def running():
    operated = started({"image": FIRST, "driver": {"memory": "2Gi"}})
    operated.apply(spec=BARE).reconcile_all()
    return operated.runs()


def test_an_app_runs_with_what_it_leaves_open_and_its_status_says_so(running):
    assert image(running) == ("shop-driver-1", FIRST)
    assert running.status()["defaults"] == {"image": FIRST, "driver": {"memory": "2Gi"}}
    assert "image" not in running.app()["spec"]


def test_other_defaults_restart_nothing_until_the_app_is_edited(running):
    started({"image": SECOND}, running).look()
    assert image(running) == ("shop-driver-1", FIRST)
    assert running.status()["defaults"]["image"] == FIRST
    before = running.writes()
    running.look()
    assert running.writes() == before
    running.apply(spec=BARE, restartPolicy={"factor": 3})
    running.reconcile_all()
    running.all_gone()
    assert image(running) == ("shop-driver-2", SECOND)
    assert running.status()["defaults"] == {"image": SECOND}


def test_a_driver_that_dies_is_restarted_with_what_it_ran_with(running):
    started({}, running).look()
    running.gone("shop-driver-1")
    running.reconcile_all()
    running.later(seconds=60)
    assert image(running) == ("shop-driver-2", FIRST)


def test_without_an_image_from_anywhere_an_app_is_refused():
    operated = started({})
    operated.apply(spec=BARE).reconcile_all()
    assert operated.condition("Accepted") == ("False", "InvalidSpec")
    assert [problem["path"] for problem in operated.status()["problems"]] == ["spec.image"]
    assert "defaults" not in operated.status()


def test_defaults_are_held_to_what_is_allowed():
    operated = started({"image": FIRST, "driver": {"template": {"spec": {"hostNetwork": True}}}})
    operated.apply(spec=BARE).reconcile_all()
    assert operated.condition("Accepted") == ("False", "NotAllowed")


def test_an_image_that_does_not_come_to_run_is_rolled_back_whatever_the_defaults_are_then(running):
    started({"image": SECOND}, running)
    running.apply(spec=BARE, restartPolicy={"factor": 3})
    running.reconcile_all()
    running.all_gone()
    running.stuck("shop-driver-2", "ErrImagePull")
    running.reconcile_all()
    running.later(minutes=2)
    assert running.condition("Accepted") == ("False", "UpgradeRolledBack")
    assert image_of(running, running.pods()[-1]) == FIRST
    started({"image": "registry.invalid/third:1"}, running).look()
    assert running.condition("Accepted") == ("False", "UpgradeRolledBack")
    assert image_of(running, running.pods()[-1]) == FIRST
