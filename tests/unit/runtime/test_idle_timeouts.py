"""The inputs whose silence counts."""

from streamapp_runtime.processor.task_assembly import idle_timeouts
from support.plan_documents import accepted, document

TIME = {"schema": "k string, t timestamp", "eventTime": {"column": "t", "idleTimeout": "5s"}}


def test_an_input_with_a_timeout_may_be_idle_but_not_one_with_control_messages():
    app = document(
        streams={"plain": TIME, "between": {**TIME, "key": "k", "controlMessages": True}, "out": {}},
        operators=[
            {"name": "all", "from": ["plain", "between"], "merge": {}},
            {"name": "sent", "from": "all", "sendTo": "out"},
        ],
    )
    plan = accepted(app, {"plain": 2, "between": 2, "out": 1})
    assert plan.streams["between"].shared
    assert idle_timeouts(plan) == {"plain": 5_000}
