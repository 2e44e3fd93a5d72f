"""The driver of an app on Kubernetes: in a pod that the Kubernetes operator created, it follows its documents."""
