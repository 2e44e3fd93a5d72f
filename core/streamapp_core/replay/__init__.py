"""Replays: an app once more, over a part of what it has read, beside the one that runs."""
