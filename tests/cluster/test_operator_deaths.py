"""The process of the Kubernetes operator is killed, stays away for a while, and comes back."""

import os

import pytest
from kubernetes import client

from streamapp_core.job_model.stored_job_model import read_job_model
from streamapp_operator.decide.actions import ActionKind
from support.kubelet import Fate, Kubelet
from support.operated_apps import drivers, launch
from support.operator_process import OperatorProcess
from support.waiting import eventually

ACTIONS_OF_A_START = [
    ActionKind.CREATE_SERVICE_ACCOUNT,
    ActionKind.CREATE_NETWORK_POLICY,
    ActionKind.WRITE_RECORD,
    ActionKind.CREATE_DRIVER,
    ActionKind.WRITE_JOB_MODEL,
    ActionKind.CREATE_ROLE_BINDING,
    ActionKind.CREATE_SERVICE,
    ActionKind.WRITE_STATUS,
    ActionKind.EMIT_EVENT,
]
KILLED_AFTER = ACTIONS_OF_A_START if "STREAMAPP_OPERATOR_ALL_ACTIONS" in os.environ else [ActionKind.CREATE_DRIVER]
"""In memory, the operator is killed after every single write; here it is shown that a process is no different."""


@pytest.fixture(autouse=True)
def kubelet(api_client, namespace):
    with Kubelet(api_client, namespace) as kubelet:
        yield kubelet


@pytest.fixture
def operator(operator_kubeconfig, namespace, tmp_path):
    operator = OperatorProcess(operator_kubeconfig, tmp_path / "operator.log", namespaces=namespace)
    yield operator
    operator.kill()


def test_edits_and_deaths_while_the_operator_is_away_are_noticed(shop, core, api_client, namespace, operator, kubelet):
    operator.start()
    for name in ("shop", "other", "gone"):
        shop.apply(namespace, name)
    for name in ("shop", "other", "gone"):
        assert eventually(lambda name=name: shop.condition(namespace, "DriverReady", name) == ("True", "Running"))
    operator.kill()
    kubelet.become("shop-driver-1", Fate.FAILED)
    shop.edit(namespace, "other", suspend=True)
    shop.delete(namespace, "gone")
    shop.apply(namespace, "new")
    access = client.RbacAuthorizationV1Api(api_client)
    bind_otherwise(access, namespace, "other-driver")
    operator.start()
    assert eventually(lambda: "shop-driver-2" in drivers(core, namespace))
    assert eventually(lambda: "other-driver-1" not in drivers(core, namespace))
    assert eventually(lambda: "new-driver-1" in drivers(core, namespace))
    assert eventually(lambda: shop.condition(namespace, "DriverReady", "other") == ("False", "Suspended"))
    shop.edit(namespace, "other", suspend=False)
    assert eventually(lambda: "other-driver-2" in drivers(core, namespace))
    assert eventually(lambda: role_of(access, namespace, "other-driver") == "streamapp-driver")


def role_of(access, namespace, name):
    """The role of a binding; None while it is recreated."""
    found = access.list_namespaced_role_binding(namespace, field_selector=f"metadata.name={name}").items
    return found[0].role_ref.name if found else None


def bind_otherwise(access, namespace, name):
    """Bind an account to another role: a binding's role can't be changed, so it is recreated."""
    binding = access.read_namespaced_role_binding(name, namespace)
    binding.metadata.resource_version = binding.metadata.uid = None
    binding.role_ref.name = "view"
    access.delete_namespaced_role_binding(name, namespace)
    access.create_namespaced_role_binding(namespace, binding)


@pytest.mark.parametrize("action", KILLED_AFTER)
def test_the_process_killed_after_an_action_comes_back_to_the_same_end(
    shop, core, namespace, operator, documents_of, action
):
    operator.start(exit_after=action.value)
    shop.apply(namespace)
    documents = documents_of(namespace, "shop")
    assert eventually(operator.ended)
    operator.kill()
    operator.start()
    assert eventually(lambda: shop.condition(namespace, "DriverReady") == ("True", "Running"))
    assert eventually(lambda: read_job_model(documents).epoch == launch(documents).epoch)
    assert drivers(core, namespace) == [f"shop-driver-{launch(documents).epoch}"]
    assert len(core.list_namespaced_service(namespace).items) == 1
