"""Pure functions from the observed state of an app to the actions that bring it to its active spec."""
