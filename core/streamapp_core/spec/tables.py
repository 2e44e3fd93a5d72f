"""Tables: keyed stores an operator can look up, filled by side inputs or by `sendToTable`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from streamapp_core.spec.base import Duration, Expression, FunctionName, Name, SchemaText, SpecModel


class Extractor(SpecModel):
    """A Python function that makes key and value of a message."""

    function: FunctionName


class TableSpec(SpecModel):
    """A declared table.

    `key` is an expression over the rows that fill it, `value` a select list (default: all columns); an `extractor`
    makes both instead. With `bootstrap` the side inputs are read to their present end before anything else. `max_age`
    (milliseconds, None: any age) bounds how old a store may be and still be used after a restart.
    """

    key: Expression | None = None
    value: Expression | None = None
    extractor: Extractor | None = None
    table_schema: Annotated[SchemaText | None, Field(alias="schema")] = None
    side_inputs: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    bootstrap: bool = True
    persistent: bool = True
    max_age: Duration | None = "24h"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _key_or_extractor(self) -> Self:
        if self.key is None and self.extractor is None:
            raise ValueError("a table needs a `key`, or an `extractor` that makes keys and values")
        return self
