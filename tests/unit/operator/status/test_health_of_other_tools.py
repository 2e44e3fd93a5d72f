"""What other tools read from the status: the health of Argo CD, by the script of the docs, and kstatus's rules."""

import pytest
from lupa.lua54 import LuaRuntime

from streamapp_operator.decide.acceptance import AcceptanceState
from streamapp_operator.decide.driver_decision import DriverState
from streamapp_operator.status.app_status import build_status
from unit.docs import pages
from unit.operator.status.test_conditions import (
    COMPLETED,
    JOB_MODEL_LOST,
    NEVER_ACCEPTED,
    PENDING,
    SILENT,
    SPEC_REFUSED,
    STREAMS_REFUSED,
    SUSPENDED,
    died,
    in_state,
    inputs,
    of_acceptance,
    seen,
)

(SCRIPT,) = [fence.text for fence in pages.fences(pages.read("operator.md")) if fence.language == "lua"]
CASES = [
    (inputs(), "Healthy", "Current"),
    (COMPLETED, "Healthy", "Current"),
    (inputs(in_state(DriverState.LAUNCHING)), "Progressing", "InProgress"),
    (seen(), "Progressing", "InProgress"),
    (inputs(died()), "Progressing", "InProgress"),
    (PENDING, "Progressing", "InProgress"),
    (of_acceptance(AcceptanceState.COUNTS_PENDING), "Progressing", "InProgress"),
    (SUSPENDED, "Suspended", "InProgress"),
    (SILENT, "Degraded", "Current"),
    (SPEC_REFUSED, "Degraded", "Failed"),
    (STREAMS_REFUSED, "Degraded", "Failed"),
    (NEVER_ACCEPTED, "Degraded", "Failed"),
    (JOB_MODEL_LOST, "Degraded", "Failed"),
    (inputs(died(used_up=True)), "Degraded", "Failed"),
]


@pytest.mark.parametrize("given, health, _", CASES)
def test_argo_cd_finds_the_health(given, health, _):
    found = argo_health(given.observed.app.generation, build_status(given))
    assert found["status"] == health
    assert found["message"]


def test_argo_cd_waits_until_the_newest_spec_was_seen():
    assert argo_health(7, build_status(inputs()))["status"] == "Progressing"
    assert argo_health(1, None)["status"] == "Progressing"


@pytest.mark.parametrize("given, _, status", CASES)
def test_kstatus_finds_the_status(given, _, status):
    assert kstatus(given.observed.app.generation, build_status(given)) == status


def argo_health(generation, status):
    lua = LuaRuntime()
    app = {"metadata": {"generation": generation}} | ({} if status is None else {"status": status})
    lua.globals().obj = lua.table_from(app, recursive=True)
    return lua.execute(SCRIPT)


def kstatus(generation, status):
    """Apply the rules of kstatus for custom resources."""
    conditions = {entry["type"]: entry["status"] for entry in status["conditions"]}
    if status["observedGeneration"] != generation or conditions["Reconciling"] == "True":
        return "InProgress"
    if conditions["Stalled"] == "True":
        return "Failed"
    return "Current" if conditions["Ready"] == "True" else "InProgress"
