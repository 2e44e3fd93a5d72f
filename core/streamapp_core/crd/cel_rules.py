"""CEL rules that the API server checks, with messages for users: constraints that span several fields.

Only what can be seen in the resource itself and costs little is here; references, types and partitions are the
planner's. A rule's cost is estimated for the largest resource the bounds allow, so rules are on the smallest part that
shows the mistake.
"""

from collections.abc import Iterable
from typing import Any

from streamapp_core.crd.structural_schema import Constraints, Schema
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.base import DNS_LABEL
from streamapp_core.spec.groups import Dedup, Over, Window
from streamapp_core.spec.operators import Join, OperatorKind, OperatorSpec, Process
from streamapp_core.spec.processors import Location, StateStorage
from streamapp_core.spec.systems import SystemKind, SystemSpec
from streamapp_core.spec.tables import TableSpec

MAXIMUM_NAME = 40
"""Characters of an app's name: a label of Kubernetes has 63, and what is made of the name needs the rest.

Spark calls executors `<prefix>-exec-<number of up to 10 digits>`, and the prefix may add a dash and 6 characters.
"""


def _rule(rule: str, message: str, **more: str) -> dict[str, str]:
    return {"rule": rule, "message": message, **more}


def _rules(*rules: dict[str, str]) -> dict[str, Any]:
    return {"x-kubernetes-validations": list(rules)}


def _exactly_one(fields: Iterable[str]) -> str:
    given = ", ".join(f"has(self.{field})" for field in fields)
    return f"[{given}].exists_one(given, given)"


def _keys_are_labels(field: str) -> dict[str, str]:
    return _rule(
        f"self.{field}.all(name, name.size() <= 63 && name.matches('{DNS_LABEL}'))",
        f"names of {field} are DNS labels: at most 63 lower-case letters, digits and -, a letter or digit at both ends",
        fieldPath=f".{field}",
    )


CONSTRAINTS: Constraints = {
    StreamAppSpec: _rules(
        *(_keys_are_labels(field) for field in ("systems", "streams", "tables")),
        _rule(
            "!has(self.defaultSystem) || self.defaultSystem in self.systems",
            "defaultSystem names no declared system",
            fieldPath=".defaultSystem",
        ),
    ),
    SystemSpec: _rules(_rule(_exactly_one(SystemKind), f"a system is exactly one of {', '.join(SystemKind)}")),
    # Nor the key, an expression or a list of them.
    TableSpec: {"anyOf": [{"required": ["key"]}, {"required": ["extractor"]}]},
    OperatorSpec: {
        **_rules(_rule(_exactly_one(OperatorKind), f"an operator has exactly one kind of {', '.join(OperatorKind)}")),
        # CEL can't see `from`, a text or a list: only fields of one type are declared to it.
        "anyOf": [
            {"required": ["from"], "properties": {"from": {"maxItems": 1}}},
            {"required": ["from", "merge"]},
            {"required": ["sql"]},
        ],
    },
    Window: _rules(
        _rule(
            _exactly_one(("tumbling", "sliding", "session")),
            "a window is exactly one of tumbling, sliding and session",
        ),
        _rule(
            "has(self.sliding) == has(self.every)",
            "sliding and every belong together: sliding: 1h with every: 5m",
        ),
        _rule(
            "has(self.select) != has(self.topN)",
            "a window has either select, a list of aggregates, or topN, its first rows",
        ),
        _rule("!has(self.topN) || !has(self.session)", "topN is for tumbling and sliding windows"),
        _rule(
            "!has(self.emit) || !(has(self.topN) || has(self.session))",
            "emit is for tumbling and sliding windows with select",
        ),
    ),
    Dedup: _rules(
        _rule("!has(self.within) || !has(self.keep) || self.keep == 'first'", "within belongs to keep: first"),
        _rule("!has(self.within) || !has(self.ttl)", "within bounds the state, leave ttl out"),
    ),
    Over: _rules(
        _rule(
            "has(self.rows) || (has(self.range) && self.range != 'forever')",
            "over needs rows, how many count, or range, how far back they may be",
        ),
        _rule("!has(self.orderBy) || (has(self.rows) && !has(self.range))", "orderBy goes with rows alone"),
    ),
    Join: _rules(
        _rule(
            "!has(self.asOf) || !self.asOf || !has(self.type) || self.type in ['inner', 'left']",
            "asOf is for inner and left joins",
        ),
        _rule("!has(self.asOf) || !self.asOf || !has(self.ttl)", "asOf keeps the last versions, leave ttl out"),
        _rule("!has(self.condition) || !has(self.asOf) || !self.asOf", "condition is for pairs, leave asOf out"),
    ),
    Process: _rules(
        _rule(
            "!has(self.order) || self.order != 'eventTime' || has(self.state)",
            "order: eventTime is for functions with state",
        ),
    ),
    Location: _rules(
        _rule(
            "(self.by == 'label') == has(self.label)",
            "label names the pod label for by: label, and belongs to it only",
        ),
    ),
    StateStorage: _rules(
        _rule(
            _exactly_one(("emptyDir", "hostPath", "volumeClaim")),
            "state is exactly one of emptyDir, hostPath and volumeClaim",
        ),
    ),
}

ROOT: Schema = _rules(
    _rule(
        f"self.metadata.name.size() <= {MAXIMUM_NAME}",
        f"the name of a StreamApp has at most {MAXIMUM_NAME} characters: names of pods and Services are made of it",
    ),
    _rule(
        "!self.metadata.name.contains('.')",
        "the name of a StreamApp has no dots: names of Services and topics are made of it",
    ),
)
