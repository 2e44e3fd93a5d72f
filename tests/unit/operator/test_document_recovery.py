"""Apps whose documents somebody removed or damaged."""

import base64
import gzip
import json
from dataclasses import replace

import pytest

from streamapp_core.deployment.app_record import LaunchCause
from streamapp_core.deployment.driver_reports import PROGRESS
from streamapp_core.deployment.kubernetes_names import APP_LABEL, KEY_ANNOTATION
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.metadata_store import VersionConflict
from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.operated import BROKEN, Operated, owner

ERROR = "Kafka kafka (kafka:9092): nobody answers"


def lose(operated, *documents):
    """Remove documents, or all that the app has."""
    names = {f"shop.{document}" for document in documents}
    for kind, _, name in list(operated.cluster.objects):
        if kind is Kind.CONFIG_MAP and (name in names or not names):
            operated.cluster.remove(kind, "default", name)


def changelog(operated):
    return {name: task.changelog_partition for name, task in operated.model().model.tasks.items()}


def events(operated):
    return [event["reason"] for event in operated.cluster.list(Kind.EVENT, "default")]


def test_a_lost_job_model_is_put_back_from_the_coordinator_stream_and_nobody_is_disturbed(running):
    before = running.model()
    running.backs_up()
    lose(running, POINTER)
    running.reconcile_all()
    after = running.model()
    assert after.model.version > before.model.version
    assert after.model.model_copy(update={"version": before.model.version}) == before.model
    assert after.epoch == before.epoch
    assert running.pods() == ["shop-driver-1"]
    assert events(running).count("JobModelRestored") == 1
    running.reports()
    running.reconcile_all()
    assert running.condition("Ready") == ("True", "Running")


def test_a_damaged_job_model_is_put_back_too(running):
    running.backs_up()
    before = changelog(running)
    running.store().put(POINTER, b"not json")
    running.reconcile_all()
    assert changelog(running) == before


def test_a_job_model_of_a_later_release_is_not_replaced_by_the_copy(running):
    running.backs_up()
    pointer = json.loads(running.store().get(POINTER).value)
    later = json.dumps(pointer | {"schemaVersion": 99}).encode()
    running.store().put(POINTER, later)
    running.reconcile_all()
    assert running.condition("Planned") == ("False", "JobModelLost")
    assert running.store().get(POINTER).value == later


def test_an_app_that_lost_everything_goes_on_with_its_run_and_its_tasks_in_a_higher_epoch(running):
    before = changelog(running)
    running.backs_up()
    lose(running)
    running.reconcile_all()
    launch = running.record().launch
    assert (launch.run_id, launch.epoch, launch.cause) == ("run1", 2, LaunchCause.RECORD_LOST)
    assert changelog(running) == before
    assert "shop-driver-2" in running.pods()


def test_without_its_record_an_app_goes_on_with_the_run_of_its_job_model(running):
    before = changelog(running)
    lose(running, "record")
    running.reconcile_all()
    assert (running.record().launch.run_id, running.record().launch.epoch) == ("run1", 2)
    assert changelog(running) == before


def test_an_epoch_that_only_a_pod_or_the_status_knows_of_is_not_begun_again(running):
    for _ in range(2):
        running.pod_is(f"shop-driver-{running.record().launch.epoch}", "Failed", exit_code=1)
        running.reconcile_all()
        running.later(minutes=2)
    running.backup = None
    model = running.model()
    running.backs_up()
    running.backup = replace(running.backup, epoch=1)
    lose(running)
    running.reconcile_all()
    assert (model.epoch, running.record().launch.epoch) == (3, 4)


def test_a_record_that_is_lost_while_the_spec_is_refused_waits_for_a_spec(running):
    running.apply(operators=BROKEN)
    running.reconcile_all()
    lose(running, "record")
    running.reconcile_all()
    running.look()
    assert running.condition("Accepted") == ("False", "UnknownColumn")
    assert running.status()["runId"] == "run1"
    assert running.pods() == ["shop-driver-1"]
    running.apply()
    running.reconcile_all()
    assert (running.record().launch.run_id, running.record().launch.epoch) == ("run1", 2)


@pytest.mark.parametrize("documents", [(POINTER,), (POINTER, "record"), ()])
def test_a_job_model_that_is_in_no_coordinator_stream_is_not_made_up(running, documents):
    lose(running, *documents)
    running.gone("shop-driver-1")
    before = running.cluster.writes["create", Kind.POD]
    for _ in range(3):
        running.reconcile_all()
        running.look()
        running.start()
    running.later(hours=1)
    assert running.condition("Planned") == ("False", "JobModelLost")
    assert running.cluster.writes["create", Kind.POD] == before


def test_a_job_model_of_another_run_is_not_taken(running):
    running.backs_up()
    other = running.backup.model.model_copy(update={"run_id": "other"})
    running.backup = replace(running.backup, model=other)
    lose(running)
    running.reconcile_all()
    assert running.condition("Planned") == ("False", "JobModelLost")


def test_a_coordinator_stream_that_can_t_be_read_is_asked_again(running):
    before = changelog(running)
    running.backs_up()
    running.broker_error = ERROR
    lose(running, POINTER)
    running.reconcile_all()
    assert running.condition("Planned") == ("False", "JobModelLost")
    assert any(ERROR in condition["message"] for condition in running.status()["conditions"])
    running.broker_error = None
    running.later(minutes=2)
    assert changelog(running) == before


def test_a_new_run_is_the_way_out(running):
    lose(running)
    running.gone("shop-driver-1")
    running.reconcile_all()
    running.apply(runId="again")
    running.reconcile_all()
    assert running.record().launch.run_id == "again"


def test_lost_progress_and_locality_are_reported_again(running):
    lose(running, "locality")
    running.store().put(PROGRESS, b"not json")
    running.reconcile_all()
    assert running.pods() == ["shop-driver-1"]
    running.reports()
    running.reconcile_all()
    assert running.condition("Ready")[0] == "True"


def test_what_an_earlier_app_of_the_same_name_left_is_not_taken_over(running):
    record = running.cluster.get(Kind.CONFIG_MAP, "default", "shop.record")
    old = {**record, "metadata": {**record["metadata"], "ownerReferences": [{"uid": "earlier"}]}}
    running.delete()
    running.cluster.create(Kind.CONFIG_MAP, old)
    running.apply()
    with pytest.raises(VersionConflict):
        running.reconcile_all()
    running.cluster.remove(Kind.CONFIG_MAP, "default", "shop.record")
    running.look()
    assert running.record().launch.epoch == 1


def message(operated, condition):
    (found,) = [entry["message"] for entry in operated.status()["conditions"] if entry["type"] == condition]
    return found


def write_foreign(operated, name, text="{}"):
    """Write a ConfigMap as a user would who knows the name and label of a document."""
    metadata = {
        "name": f"shop.{name}",
        "namespace": "default",
        "labels": {APP_LABEL: "shop"},
        "annotations": {KEY_ANNOTATION: name},
    }
    operated.cluster.create(Kind.CONFIG_MAP, {"metadata": metadata, "data": {"value": text}})


def test_a_record_of_another_writer_is_not_read_and_an_app_that_never_ran_says_who_must_go():
    operated = Operated()
    write_foreign(operated, "record")
    operated.apply()
    operated.reconcile_all()
    assert operated.condition("Planned") == ("False", "JobModelLost")
    assert "ConfigMap shop.record" in message(operated, "Planned")
    assert "somebody else wrote it, and it is not read. Delete it" in message(operated, "Planned")
    operated.cluster.remove(Kind.CONFIG_MAP, "default", "shop.record")
    operated.later(minutes=2)
    assert "shop-driver-1" in operated.pods()


def test_a_job_model_of_another_writer_is_not_read_and_the_copy_comes_back_when_it_is_gone(running):
    running.backs_up()
    before = changelog(running)
    pointer = json.loads(running.store().get(POINTER).value)
    lose(running, POINTER)
    write_foreign(running, POINTER, json.dumps(pointer | {"epoch": 10**12}))
    running.reconcile_all()
    assert running.condition("Planned") == ("False", "JobModelLost")
    assert "ConfigMap shop.job-model" in message(running, "Planned")
    assert running.pods() == ["shop-driver-1"]
    lose(running, POINTER)
    running.reconcile_all()
    assert (changelog(running), running.model().epoch) == (before, 1)
    assert events(running).count("JobModelRestored") == 1


def test_a_document_that_unpacks_to_gigabytes_stops_its_own_app_only(running):
    lose(running, "record")
    write_foreign(running, "record")
    bomb = base64.b64encode(gzip.compress(bytes(200_000_000))).decode()
    patch = {"data": None, "binaryData": {"value.gz": bomb}, "metadata": {"ownerReferences": [owner(running.app())]}}
    running.cluster.patch(Kind.CONFIG_MAP, "default", "shop.record", patch)
    running.reconcile_all()
    assert running.record().launch.run_id == "run1"
