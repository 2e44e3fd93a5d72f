"""The CustomResourceDefinition of StreamApp: what Kubernetes itself checks of the resource."""

from streamapp_core.crd.crd_definition import custom_resource_definition

__all__ = ["custom_resource_definition"]
