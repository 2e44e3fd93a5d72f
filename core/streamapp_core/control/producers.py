"""The tasks that are expected to write control messages to each intermediate stream (docs/control-messages.md)."""

from collections.abc import Collection, Mapping

from streamapp_core.ssp import Ssp
from streamapp_core.tasks.natural_order import natural_key


def expected_producers(
    feeds: Mapping[str, Collection[str]], tasks: Mapping[str, Collection[Ssp]]
) -> dict[str, tuple[str, ...]]:
    """Return the producers of each intermediate stream: tasks that own an SSP of a stream that feeds it.

    Args:
        feeds: intermediate stream -> the streams whose messages reach it without another intermediate stream between.
        tasks: task -> its SSPs.

    Returns:
        Intermediate stream -> task names, in natural order.
    """
    inputs = {task: {ssp.stream for ssp in ssps} for task, ssps in tasks.items()}
    ordered = sorted(inputs, key=natural_key)
    return {
        stream: tuple(task for task in ordered if not inputs[task].isdisjoint(feeding))
        for stream, feeding in feeds.items()
    }
