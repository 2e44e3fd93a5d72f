"""Makes what a release publishes: `python -m tools.release`."""
