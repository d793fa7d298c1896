{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- /* A file of conf/ as it is, in the namespace of the release: (list $ "rbac.yaml"). */ -}}
{{- define "multikueued.text" -}}
{{- $root := index . 0 -}}
{{- $space := $root.Release.Namespace -}}
{{- $text := required (printf "the chart has no files/%s" (index . 1)) ($root.Files.Get (printf "files/%s" (index . 1))) -}}
{{- $text = $text | replace "namespace: kueue-system" (printf "namespace: %s" $space) -}}
{{- if ne $space "kueue-system" -}}
{{- $text = $text | replace "[kube-system, kueue-system]" (printf "[kube-system, kueue-system, %s]" $space) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{- /* One object of conf/monitoring, with the labels of the values: (list $ "servicemonitor.yaml"). */ -}}
{{- define "multikueued.labelled" -}}
{{- $object := include "multikueued.text" . | fromYaml -}}
{{- $_ := mergeOverwrite $object.metadata.labels (index . 0).Values.monitoring.labels -}}
{{- toYaml $object -}}
{{- end -}}

{{- /* Where the plugins are that the image has. */ -}}
{{- define "multikueued.plugins" -}}
{{- (.Files.Get "files/multikueued.yaml" | fromYaml).multiKueue.plugins.directory -}}
{{- end -}}

{{- /* The configuration: the sample as it is when no value changes it. */ -}}
{{- define "multikueued.config" -}}
{{- $text := .Files.Get "files/multikueued.yaml" -}}
{{- $ours := dict -}}
{{- if .Values.plugins.image.reference -}}
{{- $_ := set $ours "plugins" (dict "directory" (printf "/plugins/%s" .Values.plugins.image.path)) -}}
{{- end -}}
{{- with .Values.dispatcher.name -}}
{{- $_ := set $ours "dispatcherName" . -}}
{{- end -}}
{{- with .Values.dispatcher.config -}}
{{- $_ := set $ours "dispatchers" . -}}
{{- end -}}
{{- with .Values.dispatcher.external -}}
{{- $_ := set $ours "externalDispatchers" . -}}
{{- end -}}
{{- if .Values.visibility.enabled -}}
{{- $_ := set $ours "visibility" (dict "bindAddress" ":8444") -}}
{{- end -}}
{{- if or $ours .Values.config -}}
{{- $config := fromYaml $text -}}
{{- if $ours -}}
{{- $config = mergeOverwrite $config (dict "multiKueue" $ours) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.config)) -}}
{{- else -}}
{{- $text -}}
{{- end -}}
{{- end -}}
