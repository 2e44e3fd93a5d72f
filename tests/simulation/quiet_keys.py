"""The function of simulated apps, with state and timers: it reports what a key did when nothing more comes."""

import pyarrow as pa

from simulation.numbered_app import SESSION_GAP_MS


class QuietKeys:
    """Emits count, lowest and highest number of a key once it has been quiet for as long as ends a session."""

    def process(self, rows: pa.Table, state) -> None:
        """Count rows, and put the key's timer off."""
        for row in rows.to_pylist():
            key, number = row["k"], row["n"]
            count, low, high, until = state.get(key) or [0, number, number, None]
            if until is not None:
                state.delete_timer(key, until)
            until = row["__event_time"] + SESSION_GAP_MS
            state.put(key, [count + 1, min(low, number), max(high, number), until])
            state.set_timer(key, until)

    def on_timers(self, timers: pa.Table, state) -> pa.Table:
        """Emit what the keys did, and forget it."""
        results = []
        for key in timers["k"].to_pylist():
            count, low, high, _ = state.get(key)
            state.delete(key)
            results.append({"k": key, "c": count, "lo": low, "hi": high})
        return pa.Table.from_pylist(results)
