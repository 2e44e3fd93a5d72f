"""Tables: keyed stores that operators look up (design 8)."""
