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

{{- /* A quantity as a number. What is none, which only 'config' may have, is 0: the daemon refuses it. */ -}}
{{- define "multikueued.amount" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?" $text -}}
{{- $units := dict "n" 0.000000001 "u" 0.000001 "m" 0.001 "" 1.0
	"k" 1000.0 "M" 1000000.0 "G" 1000000000.0 "T" 1000000000000.0 "P" 1000000000000000.0 "E" 1000000000000000000.0
	"Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- $unit := trimPrefix $number $text -}}
{{- if and $number (hasKey $units $unit) -}}
{{- printf "%.9f" (mulf (float64 $number) (get $units $unit)) -}}
{{- else -}}
0
{{- end -}}
{{- end -}}

{{- /* Amounts that no API server takes, or that end the daemon before a limit of its own does. */ -}}
{{- define "multikueued.resources" -}}
{{- $limits := default dict .Values.resources.limits -}}
{{- range $name, $asked := default dict .Values.resources.requests -}}
{{- if hasKey $limits $name -}}
{{- $limit := get $limits $name -}}
{{- if gt (include "multikueued.amount" $asked | float64) (include "multikueued.amount" $limit | float64) -}}
{{- fail (printf "resources.requests.%s is %v: expected at most resources.limits.%s, which is %v; no API server takes such a pod" $name $asked $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $ours := get .Values.config "multiKueue" -}}
{{- if and (kindIs "map" $ours) (hasKey $limits "memory") -}}
{{- $share := get $ours "workerMemory" -}}
{{- if ge (include "multikueued.amount" $share | float64) (include "multikueued.amount" $limits.memory | float64) -}}
{{- fail (printf "config.multiKueue.workerMemory is %v: expected less than resources.limits.memory, which is %v; the pod would be ended before one worker has used up its share" $share $limits.memory) -}}
{{- end -}}
{{- end -}}
{{- end -}}
