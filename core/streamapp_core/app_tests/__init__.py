"""Unit tests of apps as data: what they say, the app as they run it, and the comparison of rows."""
