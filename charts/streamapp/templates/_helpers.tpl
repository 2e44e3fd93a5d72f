{{/* The prefix of the names of all objects. */}}
{{- define "streamapp.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "streamapp.operator" -}}
{{ include "streamapp.fullname" . }}-operator
{{- end -}}

{{/* The role that the operator gives to drivers. */}}
{{- define "streamapp.driver" -}}
{{ include "streamapp.fullname" . }}-driver
{{- end -}}

{{- define "streamapp.account" -}}
{{ .Values.serviceAccount.name | default (include "streamapp.operator" .) }}
{{- end -}}

{{/* Namespaced or not: the kind of the operator's and the drivers' roles. */}}
{{- define "streamapp.roleKind" -}}
{{ if .Values.watch.namespaces }}Role{{ else }}ClusterRole{{ end }}
{{- end -}}

{{/* The selector of the watched namespaces, for what API servers ask; empty: all. */}}
{{- define "streamapp.namespaceSelector" -}}
{{- if .Values.watch.namespaces -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: In
    values: {{ toJson .Values.watch.namespaces }}
{{- else if .Values.watch.namespaceSelector -}}
{{ toYaml .Values.watch.namespaceSelector }}
{{- end -}}
{{- end -}}

{{- define "streamapp.image" -}}
{{- with .Values.image -}}
{{ with .registry }}{{ . }}/{{ end }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{/* What the pods of apps may use, as JSON: with the accounts that the chart makes for them. */}}
{{- define "streamapp.allowed" -}}
{{- $names := .Values.allowed.serviceAccounts -}}
{{- range .Values.jobs.serviceAccounts -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- set (deepCopy .Values.allowed) "serviceAccounts" (uniq $names) | toJson -}}
{{- end -}}

{{/* The labels by which the Deployment, the Service and the NetworkPolicy select the operator's pod. */}}
{{- define "streamapp.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "streamapp.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- range $name, $value := .Values.commonLabels }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}
