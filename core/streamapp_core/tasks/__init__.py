"""Tasks: the partitions that each owns, and what stays fixed when streams grow (docs/expansion.md)."""

from streamapp_core.tasks.expansion import (
    DEFAULT_ALGORITHM,
    MODULO,
    AlgorithmLookup,
    CheckedAlgorithm,
    ExpansionAlgorithm,
    ExpansionRefusedError,
    Modulo,
    built_in_algorithm,
)
from streamapp_core.tasks.groupers import group_partitions, plain_task
from streamapp_core.tasks.natural_order import natural_key
from streamapp_core.tasks.parent_partitions import parents
from streamapp_core.tasks.task_grouping import (
    NO_HISTORY,
    ExpansionError,
    GroupedStream,
    Grouping,
    PreviousGrouping,
    StreamHistory,
)

__all__ = [
    "DEFAULT_ALGORITHM",
    "MODULO",
    "NO_HISTORY",
    "AlgorithmLookup",
    "CheckedAlgorithm",
    "ExpansionAlgorithm",
    "ExpansionError",
    "ExpansionRefusedError",
    "GroupedStream",
    "Grouping",
    "Modulo",
    "PreviousGrouping",
    "StreamHistory",
    "built_in_algorithm",
    "group_partitions",
    "natural_key",
    "parents",
    "plain_task",
]
