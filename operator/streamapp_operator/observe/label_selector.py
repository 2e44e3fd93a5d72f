"""The label selector of Kubernetes (`matchLabels`, `matchExpressions`), and the text that requests have of it."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_Key = Annotated[str, StringConstraints(pattern=rf"^([a-z0-9][-a-z0-9.]{{0,252}}/)?{_NAME}$")]
_Value = Annotated[str, StringConstraints(pattern=rf"^({_NAME})?$")]


class Operator(StrEnum):
    """The conditions that there are on a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelExpression(BaseModel):
    """A condition on one label."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: _Key
    operator: Operator
    values: tuple[_Value, ...] = ()

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        compares = self.operator in (Operator.IN, Operator.NOT_IN)
        if compares != bool(self.values):
            raise ValueError(f"`{self.operator}` takes {'at least one of `values`' if compares else 'no `values`'}")
        return self

    @property
    def text(self) -> str:
        """The condition as a request has it."""
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"


class LabelSelector(BaseModel):
    """Selects the objects that meet all conditions; without any, all objects."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    match_labels: dict[_Key, _Value] = Field(default={}, alias="matchLabels")
    match_expressions: tuple[LabelExpression, ...] = Field(default=(), alias="matchExpressions")

    @property
    def text(self) -> str:
        """The selector as a request has it."""
        equal = [f"{key}={value}" for key, value in sorted(self.match_labels.items())]
        return ",".join([*equal, *(expression.text for expression in self.match_expressions)])
