"""One process of a run on Quix Streams, exactly once: `PYTHON kafka_quix.py FOLDER SERVERS TOPIC OUTPUT ROWS`.

It runs in an environment of its own, since its pins are not ours, so it imports nothing of ours. The process ends by
itself when nothing has come for some seconds. Prints when it took which rows.
"""

import json
import sys
import time

from quixstreams import Application

IDLE_SECONDS = 5.0


def main() -> None:
    folder, servers, topic, output, rows = sys.argv[1:]
    app = Application(
        broker_address=servers,
        consumer_group=output,
        state_dir=f"{folder}/state",
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_interval=1.0,
        loglevel="ERROR",
        consumer_extra_config={"fetch.queue.backoff.ms": 50, "queued.min.messages": 100_000},
    )
    seen: list[tuple[float, int]] = []
    count = 0

    def add(value: dict[str, int], state: object) -> dict[str, object]:
        nonlocal count
        count += 1
        if count % 1_000 == 0:
            seen.append((time.time(), count))
        now = state.get("counts") or [0, 0, 0]
        now = [now[0] + 1, now[1] + value["value"], max(now[2], value["at"])]
        state.set("counts", now)
        return {"sensor": value["sensor"], "readings": now[0], "total": now[1], "at": now[2]}

    frame = app.dataframe(app.topic(topic, value_deserializer="json"))
    frame.apply(add, stateful=True).to_topic(app.topic(output, value_serializer="json"))
    app.run(timeout=IDLE_SECONDS, count=int(rows))
    seen.append((time.time(), count))
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
