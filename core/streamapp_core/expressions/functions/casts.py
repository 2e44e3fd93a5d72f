"""Functions that are named like types: casts."""

from functools import partial

from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    TypeKind,
)

_DECIMAL = DataType(TypeKind.DECIMAL, 10, 0)
_TYPES = (BIGINT, BINARY, BOOLEAN, DATE, _DECIMAL, DOUBLE, FLOAT, INT, SMALLINT, STRING, TIMESTAMP, TINYINT)


def _cast(target: DataType, value: Value) -> Value:
    return converted(value, target)


CASTS = tuple(
    Function(
        name=str(data_type.kind),
        parameters=(Parameter("value", Accepts.ANY),),
        result=str(data_type),
        doc=f"As `cast(value as {data_type.kind})`.",
        write=partial(_cast, data_type),
    )
    for data_type in _TYPES
)
