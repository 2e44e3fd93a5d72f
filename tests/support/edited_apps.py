"""Apps that are a little wrong, or right in another way: those of the vectors with one value changed."""

import json
from copy import deepcopy

from hypothesis import strategies as st

from conformance.files import HERE

VECTORS = json.loads((HERE / "plan.json").read_text())
RIGHT = [vector for vector in VECTORS if vector["expect"]["accepted"]]
VALUES = st.sampled_from(
    [None, 0, 1, 10**6, True, "", "x", "Bad Name", "5m", "0s", "a" * 64, [], ["a"], {}, {"key": "k"}]
)


def places(value, path=()):
    """Give the paths of all values below a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*path, name)
        yield from places(part, (*path, name))


@st.composite
def edited_apps(draw):
    """An accepted app of the vectors with one value replaced, removed, or put beside another."""
    vector = draw(st.sampled_from(RIGHT))
    app = deepcopy(vector["app"])
    *parents, last = draw(st.sampled_from(sorted(places(app["spec"]), key=str)))
    holder = app["spec"]
    for part in parents:
        holder = holder[part]
    edit = draw(st.sampled_from(["replace", "remove", "add"]))
    if edit == "remove":
        del holder[last]
    elif edit == "add" and isinstance(holder, dict):
        holder[draw(st.sampled_from(["key", "map", "merge", "every", "name", "runId", "maxAge", "state"]))] = draw(
            VALUES
        )
    else:
        holder[last] = draw(VALUES)
    return vector, app
