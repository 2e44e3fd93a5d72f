"""The commit of a processor: what becomes visible and lasting, in which order (design 9).

1. The operators' results are complete: states in stores, rows and markers with the producer, file parts staged.
2. The producer commits: from here on the results count.
3. The staged parts are published.
4. The states commit.
"""

from collections.abc import Sequence

from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.markers import MarkerRounds
from streamapp_runtime.state.protocol import Environment
from streamapp_runtime.tasks.task import Task
from streamapp_systems.protocols import FileOutput, Producer


class Committer:
    """Commits all tasks of a processor at once."""

    def __init__(
        self,
        *,
        tasks: Sequence[Task],
        shared: Environment,
        writer: IntermediateWriter,
        markers: MarkerRounds,
        producer: Producer | None,
        outputs: Sequence[FileOutput],
    ) -> None:
        """Take what takes part; `shared` is the state that all tasks of the processor use (broadcast tables)."""
        self._tasks = tasks
        self._shared = shared
        self._writer = writer
        self._markers = markers
        self._producer = producer
        self._outputs = outputs
        self.commits = 0

    def commit(self, now: int) -> None:
        """Commit everything done so far; `now` is the time of day in milliseconds."""
        for task in self._tasks:
            task.flush()
        self._writer.flush()
        self._markers.send(now)
        staged = [(output, output.stage()) for output in self._outputs]
        if self._producer is not None:
            self._producer.commit()
        for output, parts in staged:
            output.publish(parts)
        for task in self._tasks:
            task.commit()
        self._shared.commit()
        self.commits += 1
