"""The spec in a resource's text, parsed once."""

import json
from functools import lru_cache

from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.parse import ParsedApp, parse_document
from streamapp_core.spec.yaml_document import DocumentError

_REMEMBERED = 5_000


@lru_cache(maxsize=_REMEMBERED)
def read_app(text: str) -> ParsedApp:
    """Parse a resource's text; one that is no StreamApp at all has one problem."""
    try:
        return parse_document(json.loads(text))
    except DocumentError as error:
        problem = Problem(path="", code=ProblemCode.INVALID_SPEC, message=str(error))
        return ParsedApp(app=None, problems=(problem,), broken=frozenset())
