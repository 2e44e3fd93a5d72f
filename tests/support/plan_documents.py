"""Makes StreamApp documents for tests of the planner, and plans them."""

from copy import deepcopy

from streamapp_core.plan import plan
from streamapp_core.spec.parse import parse_document


def document(operators, *, streams=None, tables=None, systems=None, **spec):
    """An app over a log; a stream given as a text has that schema and the key `k`."""
    declared = {}
    for name, stream in (streams or {}).items():
        declared[name] = {"schema": stream, "key": "k"} if isinstance(stream, str) else dict(stream)
        declared[name].setdefault("system", "log")
    body = {
        "systems": systems or {"log": {"log": {"path": "log"}}},
        "defaultSystem": "log",
        "streams": declared,
        "tables": tables or {},
        "operators": operators,
        **spec,
    }
    return {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {field: value for field, value in body.items() if value is not None},
    }


def planned(app, counts=None, previous=None, **arguments):
    """Plan a document; streams that are not in `counts` are made with one partition."""
    return plan(parse_document(app), counts or {}, previous, **arguments)


def accepted(app, counts=None, previous=None, **arguments):
    """Plan a document that must be right."""
    result = planned(app, counts, previous, **arguments)
    assert result.plan is not None, "\n".join(map(str, result.problems))
    return result.plan


def found(app, counts=None, previous=None):
    """Plan a document and give the code and path of each problem."""
    return {(str(problem.code), problem.path) for problem in planned(app, counts, previous).problems}


def check_refused(app, code, path, counts=None):
    """Check that a document has a problem, and that no repair leaves what it is for."""
    assert (code, path) in found(app, counts)
    for problem in planned(app, counts).problems:
        if problem.repair is not None:
            assert (problem.code, problem.path) not in found(repaired(app, problem.repair), counts)


def repaired(app, repair):
    """Apply the edits of a repair to a copy of a document, as JSON Patch does."""
    result = deepcopy(app)
    for edit in repair.edits:
        parts = edit.pointer.removeprefix("/").split("/")
        *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in parts)
        holder = result
        for part in parents:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        if edit.op == "remove":
            del holder[last]
        elif isinstance(holder, list) and last == "-":
            holder.append(edit.value)
        elif isinstance(holder, list):
            holder[int(last)] = edit.value
        else:
            holder[last] = edit.value
    return result
