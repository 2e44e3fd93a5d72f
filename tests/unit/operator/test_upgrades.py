"""A new spec whose driver does not come to run: the last one that ran is restored."""

from datetime import timedelta

import pytest

from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError
from support.operated import Operated

NEW_IMAGE = "registry.invalid/streamapp:2"


def launched(operated, image=NEW_IMAGE, **changes):
    """Edit the app, and end its driver: the next one is launched with the new spec."""
    operated.apply(image=image, **changes)
    operated.reconcile_all()
    end_driver(operated)
    return operated


def end_driver(operated):
    operated.gone(f"shop-driver-{operated.record().launch.epoch}")
    operated.reconcile_all()


def newest(operated):
    return f"shop-driver-{operated.record().launch.epoch}"


def image_of(operated, pod):
    return operated.cluster.get(Kind.POD, "default", pod)["spec"]["containers"][0]["image"]


def entry(operated, kind):
    return next(found for found in operated.status()["conditions"] if found["type"] == kind)


@pytest.fixture
def bad_image(running):
    launched(running)
    running.stuck("shop-driver-2", "ErrImagePull")
    running.reconcile_all()
    return running


class TestBadImages:
    def test_the_image_that_ran_runs_again_after_a_minute(self, bad_image):
        bad_image.later(seconds=59)
        assert bad_image.condition("Accepted") == ("True", "Accepted")
        bad_image.later(seconds=2)
        assert bad_image.pods() == ["shop-driver-3"]
        assert image_of(bad_image, "shop-driver-3") == "registry.invalid/streamapp:1"

    def test_the_status_says_what_happened_and_what_runs(self, bad_image):
        bad_image.later(minutes=2)
        bad_image.runs()
        for condition, status in (("Accepted", "False"), ("Stalled", "True"), ("Degraded", "True")):
            assert bad_image.condition(condition) == (status, "UpgradeRolledBack")
        assert entry(bad_image, "Accepted")["message"] == (
            "generation 2 does not come to run: pod shop-driver-2, container driver: why. Make the image available, or "
            "correct spec.image or spec.imagePullSecrets. Generation 1 runs again. Correct the spec: the next edit is "
            "tried at once"
        )
        ready = entry(bad_image, "Ready")
        assert (ready["status"], ready["observedGeneration"]) == ("True", 1)
        assert bad_image.status()["observedGeneration"] == 2
        events = bad_image.cluster.list(Kind.EVENT, "default")
        assert [event["reason"] for event in events].count("UpgradeRolledBack") == 1

    def test_it_is_tried_again_only_when_the_spec_changes(self, bad_image):
        bad_image.later(minutes=2)
        bad_image.runs()
        before = bad_image.writes()
        bad_image.later(hours=1)
        bad_image.look()
        assert bad_image.writes() == before
        launched(bad_image, "registry.invalid/streamapp:3")
        assert image_of(bad_image, newest(bad_image)) == "registry.invalid/streamapp:3"
        bad_image.runs()
        assert bad_image.condition("Accepted") == ("True", "Accepted")
        assert bad_image.condition("Degraded") == ("False", "AsExpected")

    def test_the_same_spec_is_tried_again_after_it_was_undone(self, bad_image):
        bad_image.later(minutes=2)
        bad_image.runs()
        bad_image.apply()
        bad_image.reconcile_all()
        assert bad_image.condition("Accepted") == ("True", "Accepted")
        launched(bad_image)
        assert image_of(bad_image, newest(bad_image)) == NEW_IMAGE

    def test_who_scales_or_suspends_it_does_not_try_it_again(self, bad_image):
        bad_image.later(minutes=2)
        bad_image.runs()
        bad_image.apply(image=NEW_IMAGE, processors={"count": 3, "state": {"hostPath": "/var/lib/streamapp"}})
        bad_image.reconcile_all()
        assert bad_image.condition("Accepted") == ("False", "UpgradeRolledBack")
        assert bad_image.pods() == ["shop-driver-3"]
        bad_image.apply(image=NEW_IMAGE, suspend=True)
        bad_image.reconcile_all()
        end_driver(bad_image)
        assert bad_image.status()["phase"] == "Suspended"
        bad_image.apply(image=NEW_IMAGE)
        bad_image.reconcile_all()
        assert image_of(bad_image, newest(bad_image)) == "registry.invalid/streamapp:1"

    def test_streams_that_grow_meanwhile_are_read(self, bad_image):
        bad_image.later(minutes=2)
        bad_image.runs()
        bad_image.counts = {"orders": 8, "totals": 4}
        bad_image.look()
        end_driver(bad_image)
        assert bad_image.record().launch.counts["orders"] == 8
        assert image_of(bad_image, newest(bad_image)) == "registry.invalid/streamapp:1"
        assert bad_image.condition("Accepted") == ("False", "UpgradeRolledBack")

    def test_a_driver_that_dies_after_the_rollback_is_restarted_as_ever(self, bad_image):
        bad_image.later(minutes=2)
        bad_image.runs()
        bad_image.pod_is("shop-driver-3", "Failed", exit_code=1)
        bad_image.reconcile_all()
        bad_image.later(seconds=10)
        assert image_of(bad_image, "shop-driver-4") == "registry.invalid/streamapp:1"


class TestOtherCauses:
    def test_a_driver_that_dies_three_times_in_a_row(self, running):
        launched(running)
        for epoch in (2, 3, 4):
            assert running.condition("Accepted") == ("True", "Accepted")
            running.pod_is(f"shop-driver-{epoch}", "Failed", exit_code=1)
            running.reconcile_all()
            if epoch < 4:
                running.later(minutes=1)
        assert running.condition("Accepted") == ("False", "UpgradeRolledBack")
        assert image_of(running, "shop-driver-5") == "registry.invalid/streamapp:1"

    @pytest.mark.parametrize("upgrade, minutes", [({}, 15), ({"deadline": "5m"}, 5)])
    def test_a_driver_that_is_not_ready_at_the_deadline(self, running, upgrade, minutes):
        launched(running, upgrade=upgrade)
        running.pod_is("shop-driver-2", "Running", ready=False)
        running.reconcile_all()
        running.later(seconds=60 * minutes - 1)
        assert running.condition("Accepted") == ("True", "Accepted")
        running.later(seconds=2)
        assert running.condition("Accepted") == ("False", "UpgradeRolledBack")
        assert f"after {60 * minutes} s (upgrade.deadline)" in entry(running, "Accepted")["message"]

    def test_a_pod_that_the_api_server_refuses(self, running):
        running.apply(image=NEW_IMAGE)
        running.reconcile_all()
        running.cluster.refused_pods = "exceeded quota: small"
        with pytest.raises(RequestRefusedError):
            end_driver(running)
        running.now += timedelta(seconds=59)
        with pytest.raises(RequestRefusedError):
            running.look()
        assert running.condition("Accepted") == ("True", "Accepted")
        running.now += timedelta(seconds=2)
        with pytest.raises(RequestRefusedError):
            running.look()
        running.cluster.refused_pods = None
        running.look()
        assert running.condition("Accepted") == ("False", "UpgradeRolledBack")
        assert "exceeded quota: small" in entry(running, "Accepted")["message"]
        assert image_of(running, newest(running)) == "registry.invalid/streamapp:1"

    def test_a_driver_that_is_ready_in_time_stays(self, running):
        launched(running)
        running.later(minutes=14)
        running.runs()
        running.later(hours=1)
        assert image_of(running, newest(running)) == NEW_IMAGE
        assert running.record().ready.generation == 2


class TestNotRolledBack:
    def test_the_first_spec(self):
        operated = Operated()
        operated.apply(image=NEW_IMAGE).reconcile_all()
        operated.stuck("shop-driver-1", "ErrImagePull")
        operated.reconcile_all()
        operated.later(hours=1)
        assert operated.condition("Degraded") == ("True", "ImagePullFailed")
        assert operated.pods() == ["shop-driver-1"]

    def test_who_does_not_want_it(self, running):
        launched(running, upgrade={"rollBack": False})
        running.stuck("shop-driver-2", "ErrImagePull")
        running.reconcile_all()
        running.later(hours=1)
        assert running.condition("Degraded") == ("True", "ImagePullFailed")

    def test_a_new_run(self, running):
        launched(running, runId="again")
        running.stuck("shop-driver-2", "ErrImagePull")
        running.reconcile_all()
        running.later(minutes=2)
        assert running.condition("Stalled") == ("True", "UpgradeNotRolledBack")
        assert "not rolled back, as run again has begun and run run1 is over" in entry(running, "Stalled")["message"]
        assert running.condition("Accepted") == ("True", "Accepted")
        assert running.pods() == ["shop-driver-2"]

    def test_an_image_that_has_opened_state(self, running):
        launched(running)
        running.pod_is("shop-driver-2", "Running", ready=False)
        running.reconcile_all()
        running.reports()
        running.reconcile_all()
        running.later(minutes=16)
        assert running.condition("Stalled") == ("True", "UpgradeNotRolledBack")
        assert "registry.invalid/streamapp:1 may not read it" in entry(running, "Stalled")["message"]
