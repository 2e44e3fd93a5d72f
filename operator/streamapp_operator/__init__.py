"""The Kubernetes operator of StreamApps."""
