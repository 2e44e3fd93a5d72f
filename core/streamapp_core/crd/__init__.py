"""The CustomResourceDefinition of StreamApp: the checks that Kubernetes itself makes of the resource."""

from streamapp_core.crd.crd_definition import custom_resource_definition

__all__ = ["custom_resource_definition"]
