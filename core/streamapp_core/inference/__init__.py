"""Guesses about data that nothing describes: types, event times, and a first app (`streamapp init`)."""
