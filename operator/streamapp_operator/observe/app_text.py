"""The parsed spec of a resource's text; each text is parsed once, as far as memory allows."""

import json

from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.parse import ParsedApp, parse_document
from streamapp_core.spec.yaml_document import DocumentError
from streamapp_operator.observe.bounded_cache import BoundedCache

_parsed: BoundedCache[str, ParsedApp] = BoundedCache()


def read_app(text: str) -> ParsedApp:
    """Parse a resource's text; a text that is no StreamApp at all has one problem."""
    return _parsed.get(text, len(text), lambda: _parse(text))


def _parse(text: str) -> ParsedApp:
    try:
        return parse_document(json.loads(text))
    except DocumentError as error:
        problem = Problem(path="", code=ProblemCode.INVALID_SPEC, message=str(error))
        return ParsedApp(app=None, problems=(problem,), broken=frozenset())
