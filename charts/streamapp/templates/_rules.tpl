{{/* All rights of the operator. */}}
{{- define "streamapp.operatorRules" -}}
- apiGroups: [streamapp.dev]
  resources: [streamapps]
  verbs: [get, list, watch, patch]
- apiGroups: [streamapp.dev]
  resources: [streamapps/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [get, list, watch, create]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, watch, create, update]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings]
  verbs: [get, list, watch, create, update, delete]
# Drivers' accounts get this role, and none with more rights than the operator's own.
- apiGroups: [rbac.authorization.k8s.io]
  resources: [{{ include "streamapp.roleKind" . | lower }}s]
  resourceNames: [{{ include "streamapp.driver" . }}]
  verbs: [bind]
- apiGroups: [""]
  resources: [events]
  verbs: [list, create]
{{- with .Values.rbac.secrets }}
{{- if .read }}
# The logins of brokers.
- apiGroups: [""]
  resources: [secrets]
  {{- with .names }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: [get]
{{- end }}
{{- end }}
{{- if .Values.watch.namespaceSelector }}
# The namespaces that the selector matches.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
# The state of an app that is deleted with its state.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, delete]
{{- end -}}

{{/* All rights of a driver and the Spark in it, in the namespace of their app. The driver policy says which objects. */}}
{{- define "streamapp.driverRules" -}}
# Executors.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete, deletecollection]
# The app's documents; Spark's settings for executors.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, create, update, deletecollection]
# The secret that a driver and its executors authenticate with; drivers read none.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
# The state of executors.
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, create, deletecollection]
# The Lease that a driver renews while it makes progress.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, patch]
# Nothing that any API serves: the driver policy knows drivers by it.
- apiGroups: [streamapp.dev]
  resources: [drivers]
  verbs: [run]
{{- end -}}
