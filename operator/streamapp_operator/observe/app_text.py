"""The parsed spec of a resource's text; each text is parsed once."""

import json
from functools import lru_cache

from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.parse import ParsedApp, parse_document
from streamapp_core.spec.yaml_document import DocumentError

_MAXIMUM_TEXTS = 5_000


@lru_cache(maxsize=_MAXIMUM_TEXTS)
def read_app(text: str) -> ParsedApp:
    """Parse a resource's text; a text that is no StreamApp at all has one problem."""
    try:
        return parse_document(json.loads(text))
    except DocumentError as error:
        problem = Problem(path="", code=ProblemCode.INVALID_SPEC, message=str(error))
        return ParsedApp(app=None, problems=(problem,), broken=frozenset())
