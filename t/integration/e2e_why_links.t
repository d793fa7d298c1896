#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Why a job waits: eight workers cannot be reached, each for another cause, and w8 has too little
# quota. Each is named, with what to do.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/why_lib.sh
. t/integration/why_lib.sh
need curl jq openssl

fleet_kubesim --clusters mgr,w1,w2,w3,w4,w5,w6,w7,w8,w9 && fleet_plugins
ok $? "API servers are up"
# The kubeconfig of a worker becomes another one: rewrite CLUSTER SED
rewrite() {
	sed "$2" "$dir/clusters/$1-token.kubeconfig" >"$dir/$1.kubeconfig"
	api mgr PATCH "/api/v1/namespaces/kueue-system/secrets/$1-kubeconfig" \
		'{"data":{"kubeconfig":"'"$(base64 -w0 "$dir/$1.kubeconfig")"'"}}' | jq -e .metadata.name >/dev/null || echo "# $1 has its kubeconfig"
}
rewrite w1 's|certificate-authority-data: .*|insecure-skip-tls-verify: true|'
rewrite w2 's|token: .*|token: one-that-has-expired|'
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/ca.key" -subj /CN=another -days 30 -out "$dir/ca.crt" 2>/dev/null
rewrite w3 "s|certificate-authority-data: .*|certificate-authority-data: $(base64 -w0 "$dir/ca.crt")|"
openssl req -newkey rsa:2048 -nodes -keyout "$dir/client.key" -subj /O=system:masters/CN=multikueued -out "$dir/client.csr" 2>/dev/null &&
	openssl x509 -req -in "$dir/client.csr" -signkey "$dir/client.key" -days -1 -out "$dir/client.crt" 2>/dev/null
ok $? "a client certificate that has expired"
rewrite w9 "s|token: .*|client-certificate-data: $(base64 -w0 "$dir/client.crt")\\n    client-key-data: $(base64 -w0 "$dir/client.key")|"
rewrite w4 's|server: .*|server: https://api.worker.invalid:6443|'
api mgr DELETE /api/v1/namespaces/kueue-system/secrets/w7-kubeconfig >/dev/null

# w8 has four CPUs, and three of them are in use.
edit w8 clusterqueues/worker-queue '{"spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"default-flavor",
	"resources":[{"name":"cpu","nominalQuota":"4"},{"name":"memory","nominalQuota":"1Ti"}]}]}]}}'
submit w8 home 3600000 '"parallelism":3,"completions":3,' >/dev/null
at_home() {
	has_condition w8 "$KUEUE/namespaces/default/workloads/$(workload_of w8 home | jq -r .metadata.name)" Admitted
}
wait_for 30 at_home
ok $? "a job of w8 itself takes three CPUs of four"
fleet_manager m
ok $? "the daemon runs"
connected() { # NAMES: are these and no others?
	[ "$(curl -sS "http://127.0.0.1:$MANAGER_PORT/v1/clusters" | jq -r '[.items[] | select(.state == "Connected") | .name] | join(" ")')" = "$1" ]
}
wait_for 60 connected "w5 w6 w8"
ok $? "three workers are connected"
api w5 POST /kubesim/restart '{"downMs":3600000}' >/dev/null
api w6 POST /kubesim/pause '{"pausedMs":3600000}' >/dev/null
wait_for 60 connected w8
ok $? "... of which one goes away, and one hangs"
submit mgr big 1000 "$OURS"'"parallelism":2,"completions":2,' >/dev/null
expect <<'END'
	kubeconfig wrong | big | w1 | NotConnected | its kubeconfig is insecure | correct the worker's kubeconfig | =
	kubeconfig without a Secret | big | w7 | NotConnected | the Secret with its kubeconfig cannot be used | create or correct this Secret | =
	credentials expired | big | w2 | NotConnected | it refuses our credentials (401 Unauthorized) | put a valid token or certificate into the worker's kubeconfig | =
	client certificate expired | big | w9 | NotConnected | it refuses our credentials (401 Unauthorized) | put a valid token or certificate into the worker's kubeconfig | =
	wrong CA | big | w3 | NotConnected | the server's certificate is not trusted (x509) | correct certificate-authority-data in the worker's kubeconfig | =
	DNS | big | w4 | NotConnected | the server's name cannot be resolved (no such host) | correct the server's name in the worker's kubeconfig | =
	worker down | big | w5 | NotConnected | nothing listens at its address (connection refused) | see whether the API server of the worker runs | =
	worker that hangs | big | w6 | NotConnected | it does not answer in time | see whether the worker's API server answers | =
	flavor short by n | big | w8 | WaitsForQuota | insufficient unused quota for cpu in flavor default-flavor, 1 more needed | wait until jobs end there, or raise the quota | =
END
check_says big "Not admitted yet by 9 workers: w1: is not connected since "
ok $? "one message has all of them"
notes "$dir/m.log"
done_testing
