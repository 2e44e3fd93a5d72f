"""The images of StreamApp: `make images`."""
