"""Runs of an app's unit tests: each in processes of its own, in several circumstances."""
