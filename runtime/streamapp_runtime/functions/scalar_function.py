"""The contract of scalar functions (docs/functions.md): from the arguments of rows to one value for each row."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from streamapp_core.expressions import FunctionSignature
from streamapp_runtime.functions.returned_tables import cast_result
from streamapp_runtime.functions.user_errors import USER_EXCEPTIONS, UserFunctionFailed, describe_error
from streamapp_runtime.sql_function import SqlFunction
from streamapp_systems.arrow_types import arrow_type


class ScalarFunction:
    """A user's function as queries call it, with arrays of arguments.

    SQL makes a null of what fails, so a call that fails is remembered, for whoever has run the query to ask.
    """

    def __init__(
        self, name: str, function: Callable[..., object], signature: FunctionSignature, *, by_row: bool
    ) -> None:
        """Take the name for messages; `by_row` says that the function takes the values of one row at a time."""
        self._name = name
        self._function = function
        self._by_row = by_row
        parameters = None if signature.parameters is None else signature.parameters.columns
        self._taken = None if parameters is None else [arrow_type(column.type) for column in parameters]
        self._result = arrow_type(signature.result)
        self._failure: UserFunctionFailed | None = None
        self.sql_function = SqlFunction(parameters=None, result=signature.result, call=self._call)
        """The function as the SQL engine knows it."""

    def take_failure(self) -> UserFunctionFailed | None:
        """Return the failure of a call, and forget it: the function raised, or returned no value for each row."""
        failure, self._failure = self._failure, None
        return failure

    def _call(self, *arguments: pa.Array) -> pa.Array:
        if self._failure is None:
            try:
                return self._returned(self._cast(arguments))
            except UserFunctionFailed as failure:
                self._failure = UserFunctionFailed(f"function {self._name}{failure}")
        return pa.nulls(len(arguments[0]), self._result)

    def _cast(self, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        if self._taken is None:
            return list(arguments)
        return [argument.cast(kind) for argument, kind in zip(arguments, self._taken, strict=True)]

    def _returned(self, arguments: Sequence[pa.Array]) -> pa.Array:
        rows = len(arguments[0])
        try:
            result = self._by_rows(arguments) if self._by_row else self._function(*arguments)
        except USER_EXCEPTIONS as error:
            raise UserFunctionFailed(f": {describe_error(error, 3 if self._by_row else 1)}") from error
        if self._by_row or hasattr(result, "__array__"):
            try:
                result = pa.array(result, **self._known_type())
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise UserFunctionFailed(f" returns values that are no {self._result}: {error}") from None
        if isinstance(result, pa.Array):
            result = pa.chunked_array([result])
        if not isinstance(result, pa.ChunkedArray):
            raise UserFunctionFailed(f" returns a {type(result).__name__}, not an Arrow array")
        if len(result) != rows:
            raise UserFunctionFailed(f" returns {len(result)} values for {rows} rows")
        try:
            return cast_result(result, self._result, "values", "`returns`").combine_chunks()
        except UserFunctionFailed as failure:
            raise UserFunctionFailed(f" {failure}") from None

    def _by_rows(self, arguments: Sequence[pa.Array]) -> list[object]:
        columns = [argument.to_pylist() for argument in arguments]
        return [self._function(*values) for values in zip(*columns, strict=True)]

    def _known_type(self) -> dict[str, pa.DataType]:
        """Return the type of Python's values where it can't be seen from them; else none: 12 is no moment."""
        return {"type": self._result} if pa.types.is_nested(self._result) else {}


class ScalarFunctions:
    """The scalar functions of an app, loaded, by their names in SQL."""

    def __init__(self, functions: Mapping[str, ScalarFunction]) -> None:
        self._functions = functions

    @property
    def sql_functions(self) -> Mapping[str, SqlFunction]:
        """The functions as the SQL engine knows them."""
        return {name: function.sql_function for name, function in self._functions.items()}

    def raise_failure(self) -> None:
        """Raise the failure of a call, if one has failed since the last time; forget those of others.

        Raises:
            UserFunctionFailed: See `ScalarFunction.take_failure`.
        """
        failures = [function.take_failure() for function in self._functions.values()]
        for failure in failures:
            if failure is not None:
                raise failure
