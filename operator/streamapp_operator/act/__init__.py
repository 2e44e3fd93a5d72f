"""Carry out actions: every write to the API server, and to brokers."""
