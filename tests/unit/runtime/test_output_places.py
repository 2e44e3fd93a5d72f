"""Parts that wait at a place: they are published as the app's system of that path is reached."""

from contextlib import ExitStack

import pytest

from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.processor.connections import Connections
from streamapp_systems.protocols import OutputPlace, PartOwner, StreamSystemError
from support.plan_documents import accepted, document

OWNER = PartOwner(app="default.a", writer="1-1", opened=5)


class Opened:
    """Systems of which the outputs that are opened are noted."""

    def __init__(self):
        self.outputs = []

    def open_output(self, name, system, streams, owner):
        assert (list(streams), owner) == ([], OWNER)
        self.outputs.append((name, system))
        return self

    def close(self):
        pass


@pytest.mark.parametrize(
    ("folder", "name"), [("s3://lake/tables", "lake"), ("s3://other", None), ("out", "delta"), ("files", "delta")]
)
def test_the_system_of_a_path_opens_its_parts(folder, name):
    systems = {
        "log": {"log": {"path": "log"}},
        "files": {"file": {"path": "files"}},
        "lake": {"delta": {"path": "s3://lake/tables", "store": {"region": "eu-1"}}},
    }
    operators = [{"name": "sent", "from": "rows", "sendTo": "out"}]
    streams = {"rows": {"schema": "k bigint"}, "out": {"key": "k"}}
    plan = accepted(document(operators, streams=streams, systems=systems))
    opened = Opened()
    with ExitStack() as handles:
        connections = Connections(plan, opened, handles)
        place = OutputPlace(SystemKind.DELTA, folder)
        if name is None:
            with pytest.raises(StreamSystemError, match=r"s3://other has rows that wait .* put the system back"):
                connections.output_at(place, OWNER)
        else:
            connections.output_at(place, OWNER)
    for found, system in opened.outputs:
        assert found == name
        assert system.path == folder
        assert (system.store is not None) == (name == "lake")
