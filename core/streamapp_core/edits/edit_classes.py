"""The classes of edits, and the class of every field of the spec."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from streamapp_core.problems import path_text

ANY = "*"
"""Stands for the name of a stream, table or operator in the path of a field."""
Path = tuple[str, ...]


class EditClass(StrEnum):
    """The effects of edits on a running app, from the mildest to the hardest."""

    NONE = "none"
    DRAIN_OR_START = "drainOrStart"
    RESCALE = "rescale"
    RESTART = "restart"
    RESTORE = "restore"
    NEW_RUN = "newRun"

    @property
    def effect(self) -> str:
        """The effect, in one line."""
        return _EFFECTS[self]


_EFFECTS = {
    EditClass.NONE: "the app keeps running undisturbed",
    EditClass.DRAIN_OR_START: "the app makes a final commit and stops, or continues where it stopped",
    EditClass.RESCALE: "processors come or go, and tasks move to balance them",
    EditClass.RESTART: "the app makes a final commit, and a new driver continues from it",
    EditClass.RESTORE: "as `restart`, and every task restores its state at a new location",
    EditClass.NEW_RUN: "the app starts from nothing in a new run; refused without a new `runId`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldEdit:
    """One field of the spec that differs. Values are as in YAML; None: not there.

    `field` is its path below `spec`, with operators by name, as their order means nothing.
    """

    field: Path
    before: JsonValue
    after: JsonValue
    edit_class: EditClass

    @property
    def path(self) -> str:
        """The path as people read it: `spec.job.grouper`, `spec.operators[hourly].window.select`."""
        if self.field[0] == "operators" and len(self.field) > 1:
            return path_text(("spec", f"operators[{self.field[1]}]", *self.field[2:]))
        return path_text(("spec", *self.field))


FIELDS: Mapping[Path, EditClass] = {
    ("image",): EditClass.RESTART,
    ("imagePullPolicy",): EditClass.RESTART,
    ("imagePullSecrets",): EditClass.RESTART,
    ("serviceAccountName",): EditClass.RESTART,
    ("pyFiles",): EditClass.RESTART,
    ("systems",): EditClass.RESTART,
    ("defaultSystem",): EditClass.NEW_RUN,
    ("namePrefix",): EditClass.NEW_RUN,
    ("streams",): EditClass.RESTART,
    ("streams", ANY, "name"): EditClass.NEW_RUN,
    ("streams", ANY, "system"): EditClass.NEW_RUN,
    ("streams", ANY, "partitions"): EditClass.NONE,
    ("streams", ANY, "startFrom"): EditClass.NEW_RUN,
    ("streams", ANY, "startingTimestamp"): EditClass.NEW_RUN,
    ("streams", ANY, "startingOffsets"): EditClass.NEW_RUN,
    ("streams", ANY, "endingTimestamp"): EditClass.NEW_RUN,
    ("streams", ANY, "endingOffsets"): EditClass.NEW_RUN,
    ("streams", ANY, "startingVersion"): EditClass.NEW_RUN,
    ("streams", ANY, "keyFormat"): EditClass.NEW_RUN,
    ("streams", ANY, "changes"): EditClass.NEW_RUN,
    ("streams", ANY, "csv"): EditClass.RESTART,
    ("streams", ANY, "json"): EditClass.RESTART,
    ("streams", ANY, "avro"): EditClass.RESTART,
    ("streams", ANY, "protobuf"): EditClass.RESTART,
    ("streams", ANY, "recordTime"): EditClass.RESTART,
    ("tables",): EditClass.RESTART,
    ("functions",): EditClass.RESTART,
    ("operators",): EditClass.RESTART,
    ("operators", ANY, "partitionBy", "stream"): EditClass.NEW_RUN,
    ("job", "intermediateStreamPartitions"): EditClass.NEW_RUN,
    ("job", "grouper"): EditClass.NEW_RUN,
    ("job", "expansionAlgorithm"): EditClass.NEW_RUN,
    ("job", "expansionGracePeriod"): EditClass.NONE,
    ("job", "commitInterval"): EditClass.RESTART,
    ("job", "watermarkInterval"): EditClass.RESTART,
    ("job", "delivery"): EditClass.RESTART,
    ("job", "onError"): EditClass.RESTART,
    ("job", "onBrokenClaim"): EditClass.RESTART,
    ("job", "timeZone"): EditClass.NEW_RUN,
    ("job", "partitionMonitor"): EditClass.NONE,
    ("processors", "count"): EditClass.RESCALE,
    ("processors", "cores"): EditClass.RESTART,
    ("processors", "memory"): EditClass.RESTART,
    ("processors", "location"): EditClass.RESTART,
    ("processors", "state"): EditClass.RESTORE,
    ("processors", "template"): EditClass.RESTART,
    ("driver", "cores"): EditClass.RESTART,
    ("driver", "memory"): EditClass.RESTART,
    ("driver", "template"): EditClass.RESTART,
    ("spark",): EditClass.RESTART,
    ("restartPolicy",): EditClass.NONE,
    ("upgrade",): EditClass.NONE,
    ("deletionPolicy",): EditClass.NONE,
    ("runId",): EditClass.NEW_RUN,
    ("suspend",): EditClass.DRAIN_OR_START,
}
"""The class of an edit below each path of the spec; the longest path that fits counts.

Edits of streams, tables and operators need a new run if they change state or keys: `streamapp_core.edits.state_edits`.
Those of names and systems need none if what the run has read and written stays where it is:
`streamapp_core.edits.classify_edits`.
"""

_LONGEST = max(map(len, FIELDS))


def field_class(path: Sequence[str]) -> EditClass:
    """Return the class of an edit at a path of the spec (operators by name).

    Raises:
        KeyError: the spec has no such field.
    """
    for length in range(min(len(path), _LONGEST), 0, -1):
        for field, edit_class in FIELDS.items():
            if len(field) == length and all(part in (ANY, here) for part, here in zip(field, path, strict=False)):
                return edit_class
    raise KeyError(path_text(path))


def strongest(edits: Sequence[FieldEdit]) -> EditClass:
    """Return the class of several edits together: that of the hardest."""
    order = list(EditClass)
    return max((edit.edit_class for edit in edits), key=order.index, default=EditClass.NONE)
