"""Kubernetes' rules for structural schemas and for the cost of CEL rules, as far as they show without a server."""

import re

from support.custom_resources import PRESERVE, RULES, SCHEMA, schema_errors

KNOWN = {
    "type", "description", "default", "nullable", "enum", "format", "pattern", "minLength", "maxLength", "minimum",
    "maximum", "minItems", "maxItems", "minProperties", "maxProperties", "required", "properties",
    "additionalProperties", "items", "anyOf", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", PRESERVE, RULES,
}  # fmt: skip
NOT_IN_CONDITIONS = {
    "type", "description", "default", "nullable", "additionalProperties", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", PRESERVE, RULES,
}  # fmt: skip
RESERVED_IN_CEL = {
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
    "loop", "package", "namespace", "return", "var", "void", "while",
}  # fmt: skip
METHODS = {"all", "size", "matches", "contains"}

LARGEST_COST_OF_A_RULE = 10_000_000
LARGEST_COST_OF_ALL = 100_000_000
LARGEST_TEXT = 3 * 1024 * 1024
CHARACTERS_A_STEP = 10

# Rules at the root see the name, which the API server declares by itself.
METADATA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 253}}}
ROOT = SCHEMA | {"properties": SCHEMA["properties"] | {"metadata": METADATA}}
OURS = {name: SCHEMA["properties"][name] for name in ("spec", "status")}


def nodes(schema, path, times=1):
    """Yield (path, schema, how often it can occur) of a schema and all below it."""
    yield path, schema, times
    for name, field in schema.get("properties", {}).items():
        yield from nodes(field, f"{path}.{name}", times)
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]", times * schema["maxItems"])
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}", times * schema["maxProperties"])


def ours():
    for name, schema in OURS.items():
        yield from nodes(schema, name)


def rules():
    """Yield (path, schema, how often it can occur, rule) of all CEL rules."""
    for path, schema, times in nodes(ROOT, "app"):
        for rule in schema.get(RULES, ()):
            yield path, schema, times, rule["rule"]


def test_every_schema_has_one_type_or_keeps_what_it_is_given():
    assert [path for path, schema, _ in ours() if "type" not in schema and not schema.get(PRESERVE)] == []
    assert [path for path, schema, _ in ours() if schema.get("type") == "array" and "items" not in schema] == []


def test_no_schema_says_what_kubernetes_forbids():
    together = {"properties", "additionalProperties"}
    assert [path for path, schema, _ in ours() if set(schema) - KNOWN or together <= set(schema)] == []


def test_required_fields_are_declared():
    for path, schema, _ in ours():
        assert set(schema.get("required", ())) <= set(schema.get("properties", ())), path
        assert set(schema.get("x-kubernetes-list-map-keys", ())) <= set(schema.get("items", {}).get("required", ())), (
            path
        )


def test_everything_is_bounded():
    bounds = {"string": {"maxLength", "enum"}, "array": {"maxItems"}}
    for path, schema, _ in ours():
        assert schema.get("type") not in bounds or bounds[schema["type"]] & set(schema), path
        assert "additionalProperties" not in schema or "maxProperties" in schema, path


def test_conditions_speak_of_values_of_declared_fields_only():
    def check(condition, declared):
        assert not set(condition) & NOT_IN_CONDITIONS
        assert set(condition.get("required", ())) <= set(declared.get("properties", ()))
        for name, field in condition.get("properties", {}).items():
            check(field, declared["properties"][name])

    conditions = [(branch, schema) for _, schema, _ in ours() for branch in schema.get("anyOf", ())]
    assert conditions
    for condition, declared in conditions:
        check(condition, declared)


def test_defaults_fit_their_schemas():
    defaults = [(path, schema) for path, schema, _ in ours() if "default" in schema]
    assert len(defaults) > 30
    assert [path for path, schema in defaults if list(schema_errors(schema, schema["default"]))] == []


def test_rules_read_declared_fields_of_one_type():
    for path, schema, _, rule in rules():
        for reference in re.findall(r"\bself\.([\w.]+)", rule):
            here = schema
            for name in [name for name in reference.split(".") if name not in METHODS]:
                assert name not in RESERVED_IN_CEL
                here = here["properties"][name]
                assert "type" in here, f"{path}: CEL does not see {reference}"


def estimated_cost(schema, rule):
    """Estimate a rule's worst case from above: each word once in each turn of the largest loop, and texts read."""
    steps = len(re.findall(r"\w+|[^\w\s.,()']+", rule))
    loops = [schema["properties"][name]["maxProperties"] for name in re.findall(r"self\.(\w+)\.all\(", rule)]
    loops += [inner.count(",") + 1 for inner in re.findall(r"\[(.*)\]\.exists_one", rule)]
    bounds = [int(number) for number in re.findall(r"size\(\) <= (\d+) &&", rule)]
    text = min([LARGEST_TEXT, *bounds]) // CHARACTERS_A_STEP
    reads = len(re.findall(r"\.(?:matches|contains)\(", rule))
    return max([1, *loops]) * (steps + reads * text)


def test_no_rule_costs_more_than_the_api_server_allows():
    costs = [times * estimated_cost(schema, rule) for _, schema, times, rule in rules()]
    assert max(costs) < LARGEST_COST_OF_A_RULE
    assert sum(costs) < LARGEST_COST_OF_ALL
