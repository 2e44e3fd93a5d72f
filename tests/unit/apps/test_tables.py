"""Tables that operators fill: joined by several streams, kept with the task's state."""

from support import apps, visits
from support.visits import HUB, Hub


def test_a_table_that_the_graph_fills_is_joined_by_several_streams_and_outlives_a_stop(tmp_path):
    document = visits.app(visits={"bounded": False}, table={"sideInputs": [], "schema": "customer string, city string"})
    spec = document["spec"]
    spec["streams"]["calls"] = {**spec["streams"]["visits"], "system": HUB, "name": "app.calls"}
    spec["operators"] += [
        {"name": "fill", "from": "customers", "sendToTable": "customer"},
        {"name": "called", "from": "calls", "joinTable": {"table": "customer", "on": "customer"}},
        {"name": "called-sent", "from": "called", "sendTo": "out"},
    ]
    hub = Hub(tmp_path, document)
    hub.move(ada="Oslo", bob="Rome")
    hub.send("customers", (None, {"city": "Nowhere"}))
    summaries = []

    def both(n, city):
        hub.visit("ada", n=n)
        hub.send("calls", ("ada", {"customer": "ada", "n": -n}))
        return {("ada", n, city), ("ada", -n, city)} <= {*hub.visits()}

    def counted():
        return summaries[-1].not_used == {"fill": {"without key": 1}}

    apps.run_until(tmp_path, document, lambda: both(1, "Oslo") and counted(), told=summaries.append)
    hub.forget("customers")
    hub.visit("bob", n=2)
    apps.run_until(tmp_path, document, lambda: both(3, "Oslo") and ("bob", 2, "Rome") in hub.visits())
    hub.move(ada="Bergen")
    apps.run_until(tmp_path, document, lambda: both(4, "Bergen") and counted(), told=summaries.append)
