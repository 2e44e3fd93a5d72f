"""Mutations of the protocols, and how soon simulations find each: `python -m simulation.mutations [NAME ...]`.

A mutation is a change of the source in a copy of the packages. Simulations that don't find it would not find a defect
of that kind either; docs/testing.md has what each takes.
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from support.changed_packages import changed_packages

_RUNTIME = "runtime/streamapp_runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change: in a file, `old` becomes `new`."""

    name: str
    file: str
    old: str
    new: str


MUTATIONS = (
    Mutation(
        name="LMDB commits before the log",
        file=f"{_RUNTIME}/processor/committer.py",
        old="            positions = commit_transaction(",
        new=(
            "            for task in checkpoints:\n                task._state._environment.commit()\n"
            "            positions = commit_transaction("
        ),
    ),
    Mutation(
        name="files are published before the commit",
        file=f"{_RUNTIME}/processor/committer.py",
        old="        with fail_point(FailPoint.COMMIT_TRANSACTION):\n",
        new=(
            "        for system, parts in staged.items():\n            self._files[system].publish(parts)\n"
            "        with fail_point(FailPoint.COMMIT_TRANSACTION):\n"
        ),
    ),
    Mutation(
        name="files are never published again after a death",
        file=f"{_RUNTIME}/processor/run_processor.py",
        old="        publish_staged_parts(states, writers.files)\n",
        new="",
    ),
    Mutation(
        name="the checkpoint forgets the staged parts",
        file=f"{_RUNTIME}/tasks/task.py",
        old="            parts=tuple(parts),\n",
        new="",
    ),
    Mutation(
        name="the checkpoint forgets the watermarks",
        file=f"{_RUNTIME}/tasks/task.py",
        old="        self._control.restore(checkpoint.snapshot())\n",
        new="",
    ),
    Mutation(
        name="the checkpoint forgets the positions",
        file=f"{_RUNTIME}/tasks/task.py",
        old="                self.positions[ssp] = position\n            if ssp.stream in self._sources and",
        new="                pass\n            if ssp.stream in self._sources and",
    ),
    Mutation(
        name="the changes of the stores are not logged",
        file=f"{_RUNTIME}/processor/committer.py",
        old="            self._producer.send_all(changelog, SentRecords(timestamps=None, keys=keys, values=values))\n",
        new="",
    ),
    Mutation(
        name="the checkpoint is not logged",
        file=f"{_RUNTIME}/processor/committer.py",
        old="            self._producer.send(changelog, checkpoint, key=CHECKPOINT_KEY, timestamp=now)\n",
        new="            self._producer.send(changelog, b'{}', key=b'x\\0x', timestamp=now)\n",
    ),
    Mutation(
        name="a store is not brought up to the end of its changelog",
        file=f"{_RUNTIME}/state/changelog_restore.py",
        old="    for messages in changelog.read(start, end):\n",
        new="    for messages in changelog.read(start, end) if not kept else ():\n",
    ),
    Mutation(
        name="a store that a crash of the machine has torn is believed",
        file=f"{_RUNTIME}/state/store_marker.py",
        old="    if marker.owner.boot_id != owner.boot_id:\n        return StoreCondition.CRASHED\n",
        new="",
    ),
    Mutation(
        name="a worker does not ask whether it is current",
        file=f"{_RUNTIME}/processor/run_processor.py",
        old="        with fail_point(FailPoint.PROCESSOR_CHECK):\n            self._confirm_current()\n",
        new="",
    ),
    Mutation(
        name="a worker asks whether it is current before it takes its id",
        file=f"{_RUNTIME}/processor/run_processor.py",
        old=(
            "            producer = self._connections.producer(owner, self._confirm_current)\n"
            "        with fail_point(FailPoint.PROCESSOR_CHECK):\n            self._confirm_current()\n"
        ),
        new=(
            "            self._confirm_current()\n"
            "            producer = self._connections.producer(owner, self._confirm_current)\n"
        ),
    ),
    Mutation(
        name="a dead processor is not fenced",
        file=f"{_RUNTIME}/driver/run_authority.py",
        old="        fence_processors(processors, self._plan, self._record.epoch, self._context.systems)\n",
        new="",
    ),
    Mutation(
        name="a new driver does not fence earlier epochs",
        file=f"{_RUNTIME}/driver/run_steps.py",
        old="        fence_previous_epochs(record, run, context.systems)\n",
        new="        pass\n",
    ),
    Mutation(
        name="a store is opened before the changelog can be read to its end",
        file=f"{_RUNTIME}/state/hanging_transactions.py",
        old="    if changelog.wait_until_readable(clock, sleep, _WAIT_SECONDS):\n        return\n    stored",
        new="    if True:\n        return\n    stored",
    ),
    Mutation(
        name="producers have ids of their own",
        file=f"{_RUNTIME}/app_streams.py",
        old="    return TransactionOwner(id=",
        new="    return TransactionOwner(id=f'{id(object())}' + ",
    ),
    Mutation(
        name="a watermark counts before all producers have reported",
        file="core/streamapp_core/control/intermediate_partition_watermark.py",
        old="for task in live if task not in self._idle_tasks})",
        new="for task in live if task in self._timestamps and task not in self._idle_tasks})",
    ),
    Mutation(
        name="an uncommitted change stays in the store",
        file=f"{_RUNTIME}/state/task_state.py",
        old="            self._environment.discard()\n            self._meta.put(CURRENT",
        new="            self._meta.put(CURRENT",
    ),
    Mutation(
        name="consumed records are deleted up to what was read, not committed",
        file=f"{_RUNTIME}/processor/committer.py",
        old="        self.committed = _lowest_positions(self._tasks)\n\n    def _send",
        new=(
            "        self.committed = {s: offset + 5 for s, offset in _lowest_positions(self._tasks).items()}\n\n"
            "    def _send"
        ),
    ),
    Mutation(
        name="a store has the position before its last commit",
        file=f"{_RUNTIME}/state/task_state.py",
        old="        self._meta.put(POSITION, str(position).encode())\n        self._environment.commit()\n",
        new="        self._environment.commit()\n        self._meta.put(POSITION, str(position).encode())\n",
    ),
    Mutation(
        name="the processor's own checkpoint is that of the store alone",
        file=f"{_RUNTIME}/state/changelog_restore.py",
        old='            meta.put(CHECKPOINT, value or b"")\n',
        new="            pass\n",
    ),
    Mutation(
        name="the driver does not stop whom it declared dead",
        file=f"{_RUNTIME}/driver/report_registry.py",
        old="            if self._current.get(processor) != report.incarnation:\n                return Command.STOP\n",
        new="            if self._current.get(processor) != report.incarnation:\n                return Command.RUN\n",
    ),
)


def find(mutation: Mutation, most: int, first: int = 0) -> int | None:
    """Return how many simulations it takes until a mutation is found; None if so many do not find it."""
    with changed_packages(mutation.file, mutation.old, mutation.new) as packages:
        environment = {**packages, "PYTHONHASHSEED": "0"}
        command = [
            sys.executable,
            "-m",
            "simulation",
            str(first),
            str(most),
            "--first-failure",
            "--no-shrink",
            "--progress",
        ]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    print(f"--- {mutation.name}\n{run.stdout[:700]}{run.stderr[-300:]}", file=sys.stderr)
    return max(int(line.split()[1]) for line in run.stderr.splitlines() if line.startswith("seed ")) - first + 1


def main() -> int:
    """Look for all mutations, or for those that are named; print how soon each was found."""
    parser = argparse.ArgumentParser(prog="python -m simulation.mutations")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--most", type=int, default=300, help="simulations until a mutation counts as not found")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    wanted = [m for m in MUTATIONS if not options.names or any(name in m.name for name in options.names)]
    lost = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for mutation, count in zip(
            wanted, pool.map(lambda m: find(m, options.most, options.first), wanted), strict=True
        ):
            lost += count is None
            print(f"{mutation.name}: {'NOT FOUND' if count is None else count}", flush=True)
    return min(lost, 1)


if __name__ == "__main__":
    sys.exit(main())
