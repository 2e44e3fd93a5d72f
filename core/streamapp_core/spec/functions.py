"""The spec of scalar functions: users' Python over values of rows, called in expressions."""

from typing import Annotated

from pydantic import Field

from streamapp_core.spec.base import FunctionName, SchemaText, SpecModel, Text


class FunctionSpec(SpecModel):
    """A Python function from values of a row to one value, which expressions call by its name in `functions`."""

    function: FunctionName
    parameters: Annotated[
        SchemaText | None,
        Field(
            description="Names and types of its arguments, such as `lat double, lon double`: values are cast to them "
            "as for Spark's functions. Default: any."
        ),
    ] = None
    returns: Annotated[Text, Field(description="The type of its results, such as `double` or `array<string>`.")]
    rows: Annotated[
        bool, Field(description="Whether it takes the values of one row at a time, not Arrow arrays of them.")
    ] = False
