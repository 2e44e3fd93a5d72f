"""Mutations of the protocols: defects that simulations must find.

A mutation is a change of the source in a copy of the packages. Simulations that don't find it would not find a defect
of that kind either; docs/testing.md has what each takes.
"""

from simulation.fault_schedules import FaultKind
from simulation.log_mutations import LOG_MUTATIONS
from simulation.mutation import Mutation
from support.changed_packages import Change

_RUNTIME = "runtime/streamapp_runtime"


MUTATIONS = (
    Mutation(
        name="LMDB commits before the log",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/committer.py",
                old="            positions = commit_transaction(",
                new=(
                    "            for task in checkpoints:\n                task._state._environment.commit()\n"
                    "            positions = commit_transaction("
                ),
            ),
        ),
    ),
    Mutation(
        name="files are published before the commit",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/committer.py",
                old="        with fail_point(FailPoint.COMMIT_TRANSACTION):\n",
                new=(
                    "        for system, parts in staged.items():\n            self._files[system].publish(parts)\n"
                    "        with fail_point(FailPoint.COMMIT_TRANSACTION):\n"
                ),
            ),
        ),
        shows=frozenset({"files"}),
    ),
    Mutation(
        name="files are never published again after a death",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/run_processor.py",
                old="        publish_staged_parts(states, self._output_at)\n",
                new="",
            ),
        ),
        shows=frozenset({"files"}),
    ),
    Mutation(
        name="the checkpoint forgets the staged parts",
        changes=(
            Change(
                file=f"{_RUNTIME}/tasks/task.py",
                old="            parts=tuple(parts),\n",
                new="",
            ),
        ),
        shows=frozenset({"files"}),
    ),
    Mutation(
        name="the checkpoint forgets the watermarks",
        changes=(
            Change(
                file=f"{_RUNTIME}/tasks/task.py",
                old="        self._control.restore(checkpoint.snapshot())\n",
                new="",
            ),
            Change(
                file=f"{_RUNTIME}/tasks/task.py",
                old="        self.pipeline.resume(checkpoint.watermarks)\n",
                new="",
            ),
        ),
    ),
    Mutation(
        name="the checkpoint forgets what producers have reported",
        changes=(
            Change(
                file=f"{_RUNTIME}/tasks/task.py",
                old="        self._control.restore(checkpoint.snapshot())\n",
                new="",
            ),
        ),
        shows=frozenset({"timed"}),
    ),
    Mutation(
        name="the checkpoint forgets the positions",
        changes=(
            Change(
                file=f"{_RUNTIME}/tasks/task.py",
                old="                self.positions[ssp] = position\n",
                new="",
            ),
        ),
    ),
    Mutation(
        name="the changes of the stores are not logged",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/committer.py",
                old="                self._producer.send_all(changelog, SentRecords(timestamps=None, keys=keys, "
                "values=values))\n",
                new="                str((keys, values))\n",
            ),
        ),
    ),
    Mutation(
        name="the checkpoint is not logged",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/committer.py",
                old="            self._producer.send(changelog, checkpoint, key=CHECKPOINT_KEY, timestamp=now)\n",
                new="            self._producer.send(changelog, b'{}', key=b'x\\0x', timestamp=now)\n",
            ),
        ),
    ),
    Mutation(
        name="a store is not brought up to the end of its changelog",
        changes=(
            Change(
                file=f"{_RUNTIME}/state/changelog_restore.py",
                old="    for messages in changelog.read(start, end):\n",
                new="    for messages in changelog.read(start, end) if not kept else ():\n",
            ),
        ),
    ),
    Mutation(
        name="a store that a crash of the machine has torn is believed",
        changes=(
            Change(
                file=f"{_RUNTIME}/state/store_marker.py",
                old="    if marker.owner.boot_id != owner.boot_id:\n        return StoreCondition.CRASHED\n",
                new="",
            ),
        ),
        needs=frozenset({FaultKind.KILL_MACHINE}),
    ),
    Mutation(
        name="a worker does not ask whether it is current",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/run_processor.py",
                old="        with fail_point(FailPoint.PROCESSOR_CHECK):\n            self._confirm_current()\n",
                new="",
            ),
        ),
        needs=frozenset({FaultKind.SCALE, FaultKind.PAUSE_STARTING_AT}),
    ),
    Mutation(
        name="a worker asks whether it is current before it takes its id",
        changes=(
            Change(
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
        ),
        needs=frozenset({FaultKind.SCALE, FaultKind.PAUSE_STARTING_AT}),
    ),
    Mutation(
        name="a dead processor is not fenced",
        changes=(
            Change(
                file=f"{_RUNTIME}/driver/run_authority.py",
                old="        fence_processors(processors, self._plan, self._record.epoch, self._context.systems)\n",
                new="",
            ),
        ),
        needs=frozenset({FaultKind.SCALE, FaultKind.PAUSE_WORKER_AT}),
    ),
    Mutation(
        name="a new driver does not fence earlier epochs",
        changes=(
            Change(
                file=f"{_RUNTIME}/driver/run_steps.py",
                old="        fence_previous_epochs(record, run, context.systems)\n",
                new="        pass\n",
            ),
        ),
        needs=frozenset({FaultKind.SCALE}),
    ),
    Mutation(
        name="a store is opened before the changelog can be read to its end, and a handover does not fence",
        changes=(
            Change(
                file=f"{_RUNTIME}/state/hanging_transactions.py",
                old="    if changelog.wait_until_readable(clock, sleep, _WAIT_SECONDS):\n        return\n    stored",
                new="    if True:\n        return\n    stored",
            ),
            Change(
                file=f"{_RUNTIME}/driver/supervisor.py",
                old="self._fence(FailPoint.HANDOVER_FENCE, handover.previous_owners, handover.prepare)",
                new="self._fence(FailPoint.HANDOVER_FENCE, (), handover.prepare)",
            ),
        ),
        needs=frozenset({FaultKind.SCALE, FaultKind.SLOW_MARKERS}),
    ),
    Mutation(
        name="producers have ids of their own",
        changes=(
            Change(
                file=f"{_RUNTIME}/app_streams.py",
                old="    return TransactionOwner(id=",
                new="    return TransactionOwner(id=f'{id(object())}' + ",
            ),
        ),
    ),
    Mutation(
        name="a watermark counts before all producers have reported",
        changes=(
            Change(
                file="core/streamapp_core/control/intermediate_partition_watermark.py",
                old="for task in live if task not in self._idle_tasks})",
                new="for task in live if task in self._timestamps and task not in self._idle_tasks})",
            ),
        ),
        shows=frozenset({"timed"}),
    ),
    Mutation(
        name="an uncommitted change stays in the store",
        changes=(
            Change(
                file=f"{_RUNTIME}/state/task_state.py",
                old="            self._environment.discard()\n            self._meta.put(CURRENT",
                new="            self._meta.put(CURRENT",
            ),
        ),
    ),
    Mutation(
        name="consumed records are deleted up to what was read, not committed",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/committer.py",
                old="        self.committed = _lowest_positions(self._tasks)\n\n    def _publish",
                new=(
                    "        lowest = _lowest_positions(self._tasks)\n"
                    "        self.committed = {s: offset + 5 for s, offset in lowest.items()}\n\n"
                    "    def _publish"
                ),
            ),
        ),
    ),
    Mutation(
        name="a store has the position before its last commit",
        changes=(
            Change(
                file=f"{_RUNTIME}/state/task_state.py",
                old="        self._meta.put(POSITION, str(position).encode())\n        self._environment.commit()\n",
                new="        self._environment.commit()\n        self._meta.put(POSITION, str(position).encode())\n",
            ),
        ),
    ),
    Mutation(
        name="the processor's own checkpoint is that of the store alone",
        changes=(
            Change(
                file=f"{_RUNTIME}/state/changelog_restore.py",
                old='        environment.store(META).put(CHECKPOINT, values[newest].as_py() or b"")\n',
                new="        str(newest)\n",
            ),
        ),
    ),
    Mutation(
        name="the driver does not stop whom it declared dead",
        changes=(
            Change(
                file=f"{_RUNTIME}/driver/report_registry.py",
                old="!= report.incarnation:\n                return Command.STOP\n",
                new="!= report.incarnation:\n                return Command.RUN\n",
            ),
        ),
        needs=frozenset({FaultKind.SCALE, FaultKind.PAUSE_STARTING_AT}),
    ),
    Mutation(
        name="rows do not wait for the side inputs",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/side_input_bootstrap.py",
                old="        return not any(owner.bootstrap_lag() for owner in self._side_inputs)\n",
                new="        return True\n",
            ),
        ),
        shows=frozenset({"table"}),
    ),
    Mutation(
        name="nothing ends a transaction that brokers have forgotten",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/committer.py",
                old="        return self._was_away\n",
                new="        return False\n",
            ),
        ),
        needs=frozenset({FaultKind.KILL_BROKER}),
    ),
    Mutation(
        name="a reader does not notice that messages are missing",
        changes=(
            Change(
                file="core/streamapp_core/control/sequence_numbers.py",
                old="        if found.number != expected and not (late_start and found.sender not in last):\n",
                new="        if found.number < 1:\n",
            ),
        ),
        needs=frozenset({FaultKind.KILL_BROKER}),
    ),
    Mutation(
        name="opening the store of a side input makes it young",
        changes=(
            Change(
                file=f"{_RUNTIME}/tables/adjunct_store.py",
                old="        if not self._behind:\n            self._up_to_date = now\n",
                new="        self._up_to_date = now\n",
            ),
        ),
        shows=frozenset({"aging"}),
    ),
    Mutation(
        name="a function does not find its earlier timers after a restart",
        changes=(
            Change(
                file=f"{_RUNTIME}/functions/keyed_state.py",
                old='deleted it again."""\n        self.earliest_timer = self._first_timer()\n',
                new='deleted it again."""\n        self.earliest_timer = 1 << 62\n',
            ),
        ),
        shows=frozenset({"quiet"}),
    ),
    Mutation(
        name="a silent partition is idle whether all of it was read or not",
        changes=(
            Change(
                file=f"{_RUNTIME}/processor/silence_monitor.py",
                old="                elif read[ssp]:\n",
                new="                else:\n",
            ),
        ),
        shows=frozenset({"idle"}),
    ),
    *LOG_MUTATIONS,
)
