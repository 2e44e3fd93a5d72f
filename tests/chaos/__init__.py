"""A cluster under fire: an app of windows, keys and joins, who feeds it, who breaks things, and what must come out."""
