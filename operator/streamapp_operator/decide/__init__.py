"""Decide, from what was observed, what is to be done: pure functions of values."""
