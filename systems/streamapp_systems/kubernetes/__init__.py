"""The Kubernetes API as the Kubernetes operator and the drivers use it: a protocol, its errors, one client."""
