"""Waiting for what happens elsewhere, with a deadline."""

import time


def eventually(fact, seconds=120.0, pause=0.05):
    """Ask until the answer is true, or the time is over; give the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = fact()
        if answer or time.monotonic() > deadline:
            return answer
        time.sleep(pause)


def nothing_for(seconds):
    """Let time pass that is itself the fault: an outage of so many seconds."""
    time.sleep(seconds)
