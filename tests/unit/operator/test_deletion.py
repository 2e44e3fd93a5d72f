"""The end of an app, by its deletion policy."""

from streamapp_systems.kubernetes.kubernetes_api import Kind
from support.operated import Operated


def test_by_default_everything_goes_with_its_owner_and_nobody_is_waited_for(running):
    assert "finalizers" not in running.app()["metadata"]
    running.delete()
    running.reconcile_all()
    assert running.deleted_streams == []
    left = {key for key in running.cluster.objects if key[0] is not Kind.EVENT}
    assert left == set()


def test_policy_delete_drains_then_removes_state_and_streams():
    operated = Operated()
    operated.apply(deletionPolicy="Delete").reconcile_all()
    operated.runs()
    operated.delete()
    operated.reconcile_all()
    assert operated.deleted_streams == []
    operated.all_gone()
    cleanups = operated.pods("cleanup")
    nodes = {operated.cluster.get(Kind.POD, "default", pod)["spec"]["nodeName"] for pod in cleanups}
    assert nodes == {"node-a", "node-b"}
    for pod in cleanups:
        operated.pod_is(pod, "Succeeded", exit_code=0)
    operated.reconcile_all()
    assert operated.deleted_streams == ["default.shop."]
    assert operated.app() is None


def test_a_node_that_does_not_answer_does_not_keep_an_app():
    operated = Operated()
    operated.apply(deletionPolicy="Delete").reconcile_all()
    operated.runs()
    operated.delete()
    operated.reconcile_all()
    operated.all_gone()
    operated.later(minutes=3)
    assert operated.app() is None


def test_the_policy_can_be_changed_back():
    operated = Operated()
    operated.apply(deletionPolicy="Delete").reconcile_all()
    assert operated.app()["metadata"]["finalizers"] == ["streamapp.dev/cleanup"]
    operated.apply()
    operated.reconcile_all()
    assert operated.app()["metadata"]["finalizers"] == []
