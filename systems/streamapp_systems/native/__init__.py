"""The part in C: loops over records that in Python would make an object for each. Without it, all runs slower."""
