# SPDX-License-Identifier: Apache-2.0
# What the tests of the webhook share: a daemon that serves it, reviews, and requests over TLS.
# Sourced by t/integration/webhook*.t after lib.sh; WEBHOOK is the rest of the section 'webhook'.
# shellcheck shell=sh disable=SC2034,SC2154

# The usual configuration with a webhook on the next port. WEBHOOK_MORE: further sections.
# WEBHOOK_METRICS: an address of its own for the metrics.
fleet_config() {
	cat <<-END
		apiVersion: config.kueue.x-k8s.io/v1beta2
		kind: Configuration
		namespace: kueue-system
		health:
		  healthProbeBindAddress: 127.0.0.1:$1
		metrics:
		  bindAddress: ${WEBHOOK_METRICS:-127.0.0.1:$1}
		leaderElection:
		  leaderElect: true
		  leaseDuration: ${2:-15s}
		  renewDeadline: ${3:-10s}
		  retryPeriod: ${4:-2s}
		webhook:
		  host: 127.0.0.1
		  port: $(($1 + 1))
		${WEBHOOK_MORE:-}
		multiKueue:
		  plugins:
		    directory: $dir/plugins
		  network:
		    allowLoopback: true
		    transport: ${FLEET_TRANSPORT:-auto}
	END
}

# Is a daemon ready, and what does it say: ready PORT
ready() {
	[ "$(curl -sS "http://127.0.0.1:$1/readyz" 2>&1)" = ok ]
}

SECRET=/api/v1/namespaces/kueue-system/secrets/multikueue-webhook-server-cert

# The authority that the daemon made, from its Secret.
authority() {
	api mgr GET $SECRET | jq -r '.data["ca.crt"]' | base64 -d >"$dir/ca.crt"
}

# A review on standard output: review KIND(group/Kind) OPERATION OBJECT [OLD]
review() {
	jq -nc --arg group "${1%%/*}" --arg kind "${1#*/}" --arg op "$2" --argjson object "$3" --argjson old "${4:-null}" '
		{apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: {uid: "u1", kind: {group: $group,
			version: "v1", kind: $kind}, namespace: "default", operation: $op, object: $object, oldObject: $old}}'
}

# Sends standard input to the webhook of a daemon: ask PORT
# [CURL-OPTIONS]. The body on standard output.
ask() {
	ask_port=$(($1 + 1))
	shift
	curl -sS --max-time 10 --cacert "$dir/ca.crt" -X POST --data-binary @- "$@" "https://127.0.0.1:$ask_port/mutate"
}

# The patch in an answer, or "none".
patch_in() {
	jq -r 'if .response.allowed != true then "refused" else .response.patch // "" end' |
		{ read -r patch_text; [ -n "$patch_text" ] && echo "$patch_text" | base64 -d || echo none; }
}

JOB='{"metadata":{"name":"j","labels":{"kueue.x-k8s.io/queue-name":"QUEUE"}},"spec":{"suspend":true}}'
SET='[{"op":"add","path":"/spec/managedBy","value":"kueue.x-k8s.io/multikueue"}]'
