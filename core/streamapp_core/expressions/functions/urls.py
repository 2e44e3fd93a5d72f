"""Functions of URLs."""

import re

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import URL_PART
from streamapp_core.expressions.typed_sql import Value, bound, text
from streamapp_core.schema import STRING

_TEXT = Parameter("text", Accepts.TEXT)
_PLAIN_URL = "'^(?:[^%]|%[0-9A-Fa-f]{2})*$'"


def _encoded(value: Value) -> Value:
    encoded = f"replace(replace(replace(url_encode({value.sql}), '%20', '+'), '~', '%7E'), '%2A', '*')"
    return Value(STRING, encoded)


def _decoded(value: Value) -> Value:
    def write(v: str) -> str:
        return f"CASE WHEN regexp_matches({v}, {_PLAIN_URL}, 's') THEN url_decode(replace({v}, '+', ' ')) END"

    return Value(STRING, bound([value], write))


def _part(url: Value, part: Value, key: Value | None = None) -> Value:
    found = URL_PART.over(url.sql, part.sql)
    if key is None:
        return Value(STRING, found)
    if not isinstance(key.literal, str) or not re.fullmatch(r"[\w\-~:,;@ ]*", key.literal):
        raise invalid("the key of parse_url is a literal of letters, digits, - and _")
    pattern = text(f"(?:&|^){key.literal}=([^&]*)")

    def write(query: str, p: str) -> str:
        value = f"regexp_extract({query}, {pattern}, 1)"
        return f"CASE WHEN {p} = 'QUERY' AND regexp_matches({query}, {pattern}) THEN {value} END"

    return Value(STRING, bound([Value(STRING, found), part], write))


URLS = (
    Function(
        name="url_encode",
        parameters=(_TEXT,),
        result="string",
        doc="As it stands in the query of a URL: a space is `+`, other signs are written `%2F`.",
        write=_encoded,
    ),
    Function(
        name="url_decode",
        aliases=("try_url_decode",),
        parameters=(_TEXT,),
        result="string",
        doc="The text that `url_encode` has written so; null if it is none.",
        write=_decoded,
    ),
    Function(
        name="parse_url",
        aliases=("try_parse_url",),
        parameters=(Parameter("url", Accepts.TEXT), Parameter("part", Accepts.TEXT), Parameter("key", Accepts.TEXT)),
        optional=1,
        result="string",
        doc="The `HOST`, `PATH`, `QUERY`, `REF`, `PROTOCOL`, `FILE`, `AUTHORITY` or `USERINFO` of a URL, or what its "
        "query has for a key; null if it has none, or is none. Slow.",
        write=_part,
    ),
)
