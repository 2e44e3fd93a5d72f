"""Functions that take values out of XML texts by XPath 1.0. Their kernels go row by row."""

from collections.abc import Callable

from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import XPATH_CONDITION, XPATH_NODES, XPATH_NUMBER, XPATH_TEXT, Kernel
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.expressions.xpath import XPathError, XPathKind, kind_of, parse_xpath
from streamapp_core.schema import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, DataType

_PARAMETERS = (Parameter("xml", Accepts.TEXT), Parameter("path", Accepts.TEXT_LITERAL))


def _by_path(name: str, kernel: Kernel, result: DataType) -> Callable[[Value, Value], Value]:
    def write(value: Value, path: Value) -> Value:
        written = str(path.literal)
        try:
            kind = kind_of(parse_xpath(written)) if written else XPathKind.NODES
        except XPathError as error:
            raise invalid(f"the path of {name}: {error}") from None
        if kernel is XPATH_NODES and kind is not XPathKind.NODES:
            raise invalid(f"the path of {name} selects nodes, but this one is {kind.value}; take xpath_string")
        return converted(Value(kernel.result, kernel.over(value.sql, path.sql)), result)

    return write


def _function(name: str, kernel: Kernel, result: DataType, doc: str, alias: str = "") -> Function:
    return Function(
        name=name,
        aliases=(alias,) if alias else (),
        parameters=_PARAMETERS,
        result=str(result),
        doc=f"{doc} Slow.",
        write=_by_path(name, kernel, result),
    )


_WHOLE = "As `xpath_double`, cut to a whole number; 0 if it is none."

XML_PATHS = (
    Function(
        name="xpath",
        parameters=_PARAMETERS,
        result="array<string>",
        doc="The values of the texts and attributes of an XML text that a path of XPath 1.0 selects, such as "
        "`a/b/text()`; an element's value is null. Null if the text is malformed. Slow.",
        write=_by_path("xpath", XPATH_NODES, XPATH_NODES.result),
    ),
    _function(
        "xpath_string", XPATH_TEXT, STRING, "The text of the first node that a path selects, or what it computes."
    ),
    _function("xpath_boolean", XPATH_CONDITION, BOOLEAN, "Whether a path selects a node, or its condition holds."),
    _function(
        "xpath_double",
        XPATH_NUMBER,
        DOUBLE,
        "The number in the first node that a path selects, or that it computes; NaN if it is none.",
        "xpath_number",
    ),
    _function("xpath_float", XPATH_NUMBER, FLOAT, "As `xpath_double`, as a float."),
    _function("xpath_int", XPATH_NUMBER, INT, _WHOLE),
    _function("xpath_long", XPATH_NUMBER, BIGINT, _WHOLE),
    _function("xpath_short", XPATH_NUMBER, SMALLINT, _WHOLE),
)
