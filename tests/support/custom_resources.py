"""A stand-in for what the API server does with a custom resource by its CustomResourceDefinition.

It fills in defaults, drops nulls, lists unknown fields and checks the structural schema. There is no CEL engine here:
the rules stand in a table, each with its meaning written by hand.
"""

import re
from copy import deepcopy

from streamapp_core.crd import custom_resource_definition

PRESERVE = "x-kubernetes-preserve-unknown-fields"
RULES = "x-kubernetes-validations"

VERSION = custom_resource_definition()["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
CHECKS = {
    "type": lambda value, wanted: type(value) is TYPES[wanted],
    "enum": lambda value, wanted: value in wanted,
    "pattern": lambda value, wanted: not isinstance(value, str) or re.search(wanted, value, re.ASCII) is not None,
    "minLength": lambda value, wanted: not isinstance(value, str) or len(value) >= wanted,
    "maxLength": lambda value, wanted: not isinstance(value, str) or len(value) <= wanted,
    "minimum": lambda value, wanted: not isinstance(value, int) or value >= wanted,
    "maximum": lambda value, wanted: not isinstance(value, int) or value <= wanted,
    "minItems": lambda value, wanted: not isinstance(value, list) or len(value) >= wanted,
    "maxItems": lambda value, wanted: not isinstance(value, list) or len(value) <= wanted,
    "minProperties": lambda value, wanted: not isinstance(value, dict) or len(value) >= wanted,
    "maxProperties": lambda value, wanted: not isinstance(value, dict) or len(value) <= wanted,
    "required": lambda value, wanted: not isinstance(value, dict) or set(wanted) <= set(value),
    "anyOf": lambda value, wanted: any(not list(schema_errors(branch, value)) for branch in wanted),
    "x-kubernetes-list-map-keys": lambda value, wanted: not repeated(value, wanted[0]),
}


def repeated(entries, key):
    keys = [str(entry[key]) for entry in entries if isinstance(entry, dict) and key in entry]
    return len(set(keys)) < len(keys)


LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
KINDS = (
    "has(self.filter), has(self.map), has(self.flatMap), has(self.merge), has(self.partitionBy), has(self.broadcast), "
    "has(self.join), has(self.joinTable), has(self.sendToTable), has(self.aggregate), has(self.topN), has(self.dedup), "
    "has(self.over), has(self.window), has(self.sorted), has(self.process), has(self.sendTo), has(self.sql)"
)


def count(value, *fields):
    return sum(field in value for field in fields)


def labels(names):
    return all(len(name) <= 63 and re.search(LABEL, name) for name in names)


MEANINGS = {
    "self.metadata.name.size() <= 40": lambda app: len(app["metadata"]["name"]) <= 40,
    "!self.metadata.name.contains('.')": lambda app: "." not in app["metadata"]["name"],
    "!has(self.defaultSystem) || self.defaultSystem in self.systems": (
        lambda spec: "defaultSystem" not in spec or spec["defaultSystem"] in spec["systems"]
    ),
    f"self.systems.all(name, name.size() <= 63 && name.matches('{LABEL}'))": lambda spec: labels(spec["systems"]),
    f"self.streams.all(name, name.size() <= 63 && name.matches('{LABEL}'))": lambda spec: labels(spec["streams"]),
    f"self.tables.all(name, name.size() <= 63 && name.matches('{LABEL}'))": lambda spec: labels(spec["tables"]),
    "[has(self.kafka), has(self.log), has(self.file), has(self.folder), has(self.delta), has(self.iceberg), "
    "has(self.postgresql), has(self.spark)]"
    ".exists_one(given, given)": (
        lambda system: count(system, "kafka", "log", "file", "folder", "delta", "iceberg", "postgresql", "spark") == 1
    ),
    f"[{KINDS}].exists_one(given, given)": lambda operator: len(set(operator) - {"name", "from"}) == 1,
    "[has(self.tumbling), has(self.sliding), has(self.session)].exists_one(given, given)": (
        lambda window: count(window, "tumbling", "sliding", "session") == 1
    ),
    "has(self.sliding) == has(self.every)": lambda window: ("sliding" in window) == ("every" in window),
    "has(self.select) != has(self.topN)": lambda window: ("select" in window) != ("topN" in window),
    "!has(self.topN) || !has(self.session)": lambda window: "topN" not in window or "session" not in window,
    "!has(self.emit) || !(has(self.topN) || has(self.session))": (
        lambda window: "emit" not in window or count(window, "topN", "session") == 0
    ),
    "!has(self.within) || !has(self.keep) || self.keep == 'first'": (
        lambda dedup: "within" not in dedup or dedup.get("keep", "first") == "first"
    ),
    "!has(self.within) || !has(self.ttl)": lambda dedup: count(dedup, "within", "ttl") < 2,
    "has(self.rows) || (has(self.range) && self.range != 'forever')": (
        lambda over: "rows" in over or over.get("range", "forever") != "forever"
    ),
    "!has(self.orderBy) || (has(self.rows) && !has(self.range))": (
        lambda over: "orderBy" not in over or ("rows" in over and "range" not in over)
    ),
    "!has(self.asOf) || !self.asOf || !has(self.type) || self.type in ['inner', 'left']": (
        lambda join: not join.get("asOf") or join.get("type", "inner") in ("inner", "left")
    ),
    "!has(self.asOf) || !self.asOf || !has(self.ttl)": lambda join: not join.get("asOf") or "ttl" not in join,
    "!has(self.condition) || !has(self.asOf) || !self.asOf": (
        lambda join: "condition" not in join or not join.get("asOf")
    ),
    "!has(self.order) || self.order != 'eventTime' || has(self.state)": (
        lambda process: process.get("order") != "eventTime" or "state" in process
    ),
    "(self.by == 'label') == has(self.label)": lambda location: (location["by"] == "label") == ("label" in location),
    "[has(self.emptyDir), has(self.hostPath), has(self.volumeClaim)].exists_one(given, given)": (
        lambda state: count(state, "emptyDir", "hostPath", "volumeClaim") == 1
    ),
}
"""The meaning of each CEL rule, for a value that fits its schema."""


def refusals(document):
    """Return why the API server would refuse a document from a client that is strict about fields, as kubectl is."""
    stored = defaulted(document)
    found = [f"{path}: unknown" for path in unknown_fields(stored)]
    found += schema_errors(SCHEMA, stored)
    return found or list(broken_rules(stored))


def defaulted(document):
    """Fill in defaults, and drop the nulls of fields that can't be null."""
    result = deepcopy(document)
    for _, schema, value in visit(SCHEMA, result):
        if isinstance(value, dict):
            fields = schema.get("properties", {})
            for name in [name for name, part in value.items() if part is None]:
                if not fields.get(name, schema.get("additionalProperties", {"nullable": True})).get("nullable"):
                    del value[name]
            absent = [name for name, field in fields.items() if name not in value and "default" in field]
            value.update({name: deepcopy(fields[name]["default"]) for name in absent})
    return result


def visit(schema, value, path=""):
    """Yield (path, schema, value) of every value that has a schema, the outer ones first."""
    yield path, schema, value
    if isinstance(value, dict):
        for name in list(value):
            below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if below is not None and name in value:
                yield from visit(below, value[name], f"{path}.{name}" if path else name)
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from visit(schema["items"], item, f"{path}[{index}]")


def unknown_fields(document):
    for path, schema, value in visit(SCHEMA, document):
        open_ended = PRESERVE in schema or "additionalProperties" in schema or path == "metadata"
        if isinstance(value, dict) and not open_ended:
            yield from (f"{path}.{name}" for name in value if name not in schema.get("properties", {}))


def schema_errors(root, document):
    for path, schema, value in visit(root, document):
        if value is None and schema.get("nullable"):
            continue
        keywords = [keyword for keyword in CHECKS if keyword in schema]
        for keyword in keywords:
            if not CHECKS[keyword](value, schema[keyword]):
                yield f"{path}: {keyword}"
                break


def broken_rules(document):
    """Yield the path and message of every CEL rule that a document breaks; it fits the schema."""
    for path, schema, value in visit(SCHEMA, document):
        for rule in schema.get(RULES, ()):
            if not MEANINGS[rule["rule"]](value):
                yield f"{path}: {rule['message']}"
