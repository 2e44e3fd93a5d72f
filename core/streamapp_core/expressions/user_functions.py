"""The scalar functions of an app, as expressions call them: typed like Spark's own, and run by the SQL engine."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.interval_values import check_held
from streamapp_core.expressions.time_zones import UTC, TimeZone
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import DataType, Schema, TypeKind

FUNCTION_PREFIX = "__function_"


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """The name, parameters and result of one function; with parameters None it takes any values, at least one."""

    name: str
    parameters: Schema | None
    result: DataType

    @property
    def sql_name(self) -> str:
        """The name in SQL, which no name of Spark's or DuckDB's can equal."""
        return FUNCTION_PREFIX + self.name.lower()

    @property
    def usage(self) -> str:
        """The form of a call, for messages: `distance(lat double, lon double)`."""
        return f"{self.name}({'any values' if self.parameters is None else self.parameters})"

    def call(self, arguments: Sequence[Value]) -> Value:
        """Check the arguments of a call and write it.

        Raises:
            Refusal: Their number or types are wrong.
        """
        if any(argument.type and TypeKind.VARIANT in argument.type.kinds for argument in arguments):
            raise Refusal(f"{self.name} is a Python function, which takes no variants; write variant_get or to_json")
        expected = None if self.parameters is None else len(self.parameters.columns)
        if not arguments or expected not in (None, len(arguments)):
            raise invalid(f"{self.name} takes other arguments than these {len(arguments)}: {self.usage}")
        if self.parameters is None:
            taken = [self._known(argument) for argument in arguments]
        else:
            pairs = zip(self.parameters.columns, arguments, strict=True)
            taken = [self._cast(column.name, column.type, argument) for column, argument in pairs]
        return Value(self.result, f"{self.sql_name}({', '.join(value.sql for value in taken)})")

    def _cast(self, name: str, target: DataType, value: Value) -> Value:
        try:
            return implied(value, target)
        except Refusal as refusal:
            raise Refusal(f"{name} of {self.usage}: {refusal.issue.message}", refusal.issue.code) from None

    def _known(self, value: Value) -> Value:
        if value.type is None or TypeKind.VOID in value.type.kinds:
            raise invalid(f"an argument of {self.usage} is null without a type: write cast(null as string)")
        check_held(value.type, f"an argument of {self.usage}")
        return value


class UserFunctions(msgspec.Struct, frozen=True, cache_hash=True):
    """The functions of an app at one place of its spec, and the time zone that expressions there are in.

    Nothing is said of calls of the `unknown`, whose declarations are broken. Where functions can't be called, `instead`
    says what to do.
    """

    signatures: tuple[FunctionSignature, ...] = ()
    time_zone: TimeZone = UTC
    unknown: frozenset[str] = frozenset()
    instead: str = ""

    def find(self, name: str) -> FunctionSignature | None:
        """Return the function of a name in lower case, if there is one.

        Raises:
            Refusal: It can't be called here.
        """
        found = next((signature for signature in self.signatures if signature.name.lower() == name), None)
        if found and self.instead:
            raise invalid(f"{found.name} is a function of the app, which can't be called here: {self.instead}")
        return found


NO_FUNCTIONS = UserFunctions()
