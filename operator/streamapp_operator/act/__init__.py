"""Carry out what was decided: every write to the API server and the brokers."""
