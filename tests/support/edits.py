"""An app to edit, and edits of documents by path."""

from copy import deepcopy

from streamapp_core.spec.parse import parse_document
from support.plan_documents import document

COUNTS = {"flights": 8, "planes": 8, "by-model": 4}
REMOVED = object()


def running():
    """Give an app with a table, an intermediate stream, a window, an aggregate and a process with state."""
    return document(
        [
            {"name": "late", "from": "flights", "filter": "delay > 15"},
            {"name": "typed", "from": "late", "joinTable": {"table": "plane", "on": "tailnum", "type": "left"}},
            {"name": "by", "from": "typed", "partitionBy": {"key": "model"}},
            {
                "name": "hourly",
                "from": "by",
                "window": {"tumbling": "1h", "by": ["model"], "select": "count(*) as late, avg(delay) as mean"},
            },
            {"name": "named", "from": "hourly", "map": "model, late, mean"},
            {"name": "out", "from": "named", "sendTo": "by-model"},
            {"name": "totals", "from": "by", "aggregate": {"by": ["model"], "select": "sum(delay) as total"}},
            {"name": "totals-out", "from": "totals", "sendTo": "by-model"},
        ],
        systems={"log": {"log": {"path": "log"}}, "other": {"log": {"path": "other"}}},
        streams={
            "flights": {"schema": "carrier string, tailnum string, delay double", "key": "tailnum"},
            "planes": {"schema": "tailnum string, model string, seats int", "key": "tailnum"},
            "by-model": {},
        },
        tables={"plane": {"key": "tailnum", "value": "tailnum, model", "sideInputs": ["planes"]}},
        processors={"count": 2},
    )


def edited(app, *changes):
    """Change a copy of a document: pairs of a path below `spec` and a value; operators by name, `REMOVED` removes."""
    app = deepcopy(app)
    for path, value in changes:
        holder, place = app["spec"], None
        for part in path.split("/"):
            if place is not None:
                holder = holder[place] if isinstance(holder, list) else holder.setdefault(place, {})
            place = _place(holder, part)
        if value is REMOVED:
            del holder[place]
        elif isinstance(holder, list) and place == len(holder):
            holder.append(value)
        else:
            holder[place] = value
    return app


def app_of(document):
    """Read a document that must be right in itself."""
    parsed = parse_document(document)
    assert parsed.app is not None
    assert not parsed.problems, "\n".join(map(str, parsed.problems))
    return parsed.app


def _place(holder, part):
    if isinstance(holder, list):
        names = [operator["name"] for operator in holder]
        return names.index(part) if part in names else len(names)
    return part
