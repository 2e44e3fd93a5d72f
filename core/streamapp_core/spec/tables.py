"""Tables: keyed stores an operator can look up, filled by side inputs or by `sendToTable`."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from streamapp_core.spec.base import (
    Duration,
    Expression,
    FunctionName,
    Name,
    SchemaText,
    SpecModel,
    key_columns,
    read_list_of_key,
)


class Extractor(SpecModel):
    """A Python function that makes key and value of a message."""

    function: FunctionName


class TableSpec(SpecModel):
    """A declared table: `key` and `value` are made of the rows that fill it, by expressions or by an `extractor`."""

    key: Annotated[
        Expression | Annotated[tuple[Expression, ...], Field(min_length=1, max_length=20)] | None,
        BeforeValidator(read_list_of_key),
        Field(description="An expression over the rows that fill the table, or several: the parts of the key."),
    ] = None
    value: Annotated[
        Expression | None, Field(description="A select list over the rows that fill the table; default: all columns.")
    ] = None
    extractor: Extractor | None = None
    table_schema: Annotated[SchemaText | None, Field(alias="schema")] = None
    side_inputs: Annotated[
        tuple[Name, ...], Field(max_length=100, description="Streams that fill the table: some of spec.streams.")
    ] = ()
    bootstrap: Annotated[
        bool, Field(description="Whether the side inputs are read to their present end before anything else.")
    ] = True
    persistent: Annotated[bool, Field(description="Whether the store is kept on disk.")] = True
    max_age: Annotated[
        Duration | None, Field(description="How old a store may be and still be used; null: any age.")
    ] = "24h"  # type: ignore[assignment]
    refresh: Annotated[
        Duration | None,
        Field(
            description="How often a running app looks for new versions of side inputs that are files, or are bounded "
            "tables or folders, to start again with them; null: they are taken at its next start only."
        ),
    ] = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The expressions of the parts of the key; none where an extractor makes it."""
        return key_columns(self.key)

    @model_validator(mode="after")
    def _key_or_extractor(self) -> Self:
        if self.key is None and self.extractor is None:
            raise ValueError("a table needs a `key`, or an `extractor` that makes keys and values")
        return self
