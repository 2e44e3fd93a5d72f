"""Resources that Kubernetes itself refuses. CEL rules are evaluated by hand-made equivalents, with no CEL engine."""

import pytest

from streamapp_core.spec.parse import parse_document
from support.custom_resources import MEANINGS, RULES, SCHEMA, broken_rules, defaulted, refusals
from support.refused_resources import APP, BY_RULE, BY_SCHEMA, UNKNOWN, changed


def rules(schema):
    yield from schema.get(RULES, ())
    for below in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(below, dict):
            yield from rules(below)


@pytest.mark.parametrize(
    "path, value, said", (UNKNOWN | BY_SCHEMA | BY_RULE).values(), ids=UNKNOWN | BY_SCHEMA | BY_RULE
)
def test_a_wrong_resource_is_refused_for_that_reason_only(path, value, said):
    (reason,) = refusals(changed(path, value))
    assert said in reason


def test_a_right_resource_is_stored():
    assert refusals(APP) == []
    assert not parse_document(APP).problems


def test_every_rule_has_a_meaning_and_every_meaning_a_rule():
    assert sorted(rule["rule"] for rule in rules(SCHEMA)) == sorted(MEANINGS)


def test_every_rule_refuses_something():
    refused = [list(broken_rules(defaulted(changed(path, value)))) for path, value, _ in BY_RULE.values()]
    messages = {reason.partition(": ")[2] for reasons in refused for reason in reasons}
    assert messages == {rule["message"] for rule in rules(SCHEMA)}
