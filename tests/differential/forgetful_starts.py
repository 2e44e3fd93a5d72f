"""Starts whose tables forget: the defect that the differential test writes its rows a second time for."""

import shutil
from collections.abc import Collection, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from pathlib import Path

from differential.forked_starts import Outcome, StartRequest, forget_progress, run_start
from streamapp_core.naming import CHANGELOG
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.execution_context import ExecutionContext, local_context
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_runtime.threads import in_thread
from streamapp_systems.protocols import Consumer, FetchedBatch, MessageTuple, StreamDescriptor
from streamapp_systems.registry import LocalSystems, local_systems


class ForgetfulStarts:
    """Starts of apps in threads of this process: each but the first finds an empty disk, and restores all state.

    What the changelog has of the stores `forgotten`, processors don't get.
    """

    def __init__(self, *forgotten: str) -> None:
        self._forgotten = forgotten
        self._running: Future[Outcome] = Future()

    def start(self, request: StartRequest) -> None:
        """See `Starts.start`."""
        folder = Path(request.folder)
        forget_progress(folder)
        shutil.rmtree(folder / ".streamapp" / "app" / "state", ignore_errors=True)
        self._running = in_thread("start", lambda: run_start(request, self._host))

    def ended(self, seconds: float) -> Outcome | None:
        """See `Starts.ended`."""
        done, _ = wait([self._running], seconds)
        return self._running.result() if done else None

    def _host(self, channel, name: str, log_folder: Path) -> InProcessHost:
        return InProcessHost(channel, lambda config: self._context(Path(config.folder)))

    def _context(self, folder: Path) -> ExecutionContext:
        systems = local_systems(folder)
        lossy = LossySystems(folder=folder, environment=systems.environment, forgotten=self._forgotten)
        return replace(local_context(folder), systems=lossy)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossySystems(LocalSystems):
    """See `Systems`: readers of a changelog get nothing of the stores `forgotten`."""

    forgotten: tuple[str, ...]

    def open_consumer(self, name: str, system: SystemSpec, streams: Sequence[StreamDescriptor]) -> Consumer:
        """See `Systems.open_consumer`."""
        consumer = LocalSystems.open_consumer(self, name, system, streams)
        return LossyConsumer(consumer, self.forgotten) if [s.name for s in streams] == [CHANGELOG] else consumer


class LossyConsumer:
    """A consumer of a changelog that leaves out the records of some stores; see `Consumer`."""

    def __init__(self, consumer: Consumer, forgotten: Collection[str]) -> None:
        self._consumer = consumer
        self._beginnings = tuple(f"{store}\0".encode() for store in forgotten)
        self.assign, self.ask_ends, self.close = consumer.assign, consumer.ask_ends, consumer.close

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """See `Consumer.poll`."""
        return [self._without(fetched) for fetched in self._consumer.poll(ssps, max_rows, timeout)]

    def _without(self, fetched: FetchedBatch) -> FetchedBatch:
        kept = (message for message in fetched.messages if not (message.key or b"").startswith(self._beginnings))
        return replace(fetched, messages=MessageTuple(kept))
