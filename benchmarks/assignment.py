"""Assign 100,000 tasks to 1,000 processors: after ten new ones came, and when no task is where it was."""

import random

from benchmarks.timing import median_seconds, report
from streamapp_core.assignment import assign

TASKS, PROCESSORS, LIMIT = 100_000, 1_000, 1.0


def main() -> None:
    order = random.Random(17)
    tasks = [f"Partition {number}" for number in range(TASKS)]
    processors = {str(number): f"node-{number}" for number in range(PROCESSORS)}
    before = {task: str(order.randrange(PROCESSORS - 10)) for task in tasks}
    at_home = {task: processors[id_] for task, id_ in before.items()}
    anywhere = {task: f"node-{order.randrange(PROCESSORS)}" for task in tasks}

    scaled_up = median_seconds(lambda: assign(tasks, processors, at_home, before))
    report("100,000 tasks on 1,000 processors, 10 of them new", scaled_up, limit=LIMIT)
    scattered = median_seconds(lambda: assign(tasks, processors, anywhere, before))
    report("the same, state anywhere (100,000 kinds of tasks)", scattered, limit=LIMIT)
