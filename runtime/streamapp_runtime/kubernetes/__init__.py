"""The driver of an app on Kubernetes: it runs in a pod that the Kubernetes operator made, and goes by its documents."""
