#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker that a ClusterProfile describes, with credentials from a program: asked, refused, renewed
# under a running link, and failing.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq
PROFILES=/apis/multicluster.x-k8s.io/v1alpha1/namespaces/kueue-system/clusterprofiles

# Answers with the file `answer`, in which @SOON@ is in eight seconds; fails
# while there is a file `broken`.
cat >"$dir/give" <<-'END'
	#!/bin/sh
	dir=$(dirname "$0")
	printf '%s\n' "$REGION $* $KUBERNETES_EXEC_INFO" >>"$dir/asked"
	[ ! -e "$dir/broken" ] || { echo "no luck" >&2; exit 3; }
	sed "s/@SOON@/$(date -u -d '+8 seconds' +%Y-%m-%dT%H:%M:%SZ)/" "$dir/answer"
END
chmod 755 "$dir/give"
answer() { # TOKEN [FIELD]
	printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"%s}}\n' \
		"$1" "${2:-}" >"$dir/answer.tmp" && mv "$dir/answer.tmp" "$dir/answer"
}
asked() { # how often the program was run
	[ -e "$dir/asked" ] && wc -l <"$dir/asked" || echo 0
}
lend() { # TOKEN: what w1 lets in from now on
	api w1 POST /kubesim/token '{"token":"'"$1"'"}' >/dev/null
}
FLEET_MORE="  clusterProfile:
    accessProviders:
    - name: corp
      execConfig:
        command: $dir/give
        args: [me, in]
        env: [{name: REGION, value: north}]
        apiVersion: client.authentication.k8s.io/v1
        interactiveMode: Never
        provideClusterInfo: true
featureGates: {MultiKueueClusterProfile: true}"
status() { # SERVER CONFIG: the profile leads there
	api mgr PATCH $PROFILES/p1/status '{"status":{"accessProviders":[{"name":"corp","cluster":{"server":"'"$1"'",
		"certificate-authority-data":"'"$(field w1-token.kubeconfig certificate-authority-data)"'","extensions":
		[{"name":"client.authentication.k8s.io/exec","extension":{"audience":"'"$2"'"}}]}}]}}' >/dev/null
}

fleet_kubesim --log "$dir/requests" && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
for c in w2 w3; do
	api mgr DELETE "${CLUSTER%w1}$c" >/dev/null
done
api mgr PATCH $CLUSTER '{"spec":{"clusterSource":{"kubeConfig":null,"clusterProfileRef":{"name":"p1"}}}}' >/dev/null
wait_for 20 reason_is BadClusterProfile 'no matches for kind "ClusterProfile"'
ok $? "C-2.4d: without the CRD that is the cluster's condition; the daemon runs"
api mgr POST /kubesim/crd '{"group":"multicluster.x-k8s.io","version":"v1alpha1","plural":"clusterprofiles","kind":"ClusterProfile"}' >/dev/null
api mgr POST /kubesim/restart '{"downMs":100}' >/dev/null # it would be looked for every ten minutes
wait_for 30 reason_is BadClusterProfile 'ClusterProfile.multicluster.x-k8s.io "p1" not found'
ok $? "with it, but without the profile"

lend t1
answer t1
make_profile() { # the API server may be on its way back
	api mgr POST $PROFILES '{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"p1",
		"namespace":"kueue-system"},"spec":{}}' | jq -e '.metadata.uid or .reason == "AlreadyExists"'
}
wait_for 20 make_profile
wait_for 20 reason_is BadClusterProfile 'no matching cluster accessor found for cluster profile "p1"'
ok $? "a profile that names no provider of ours"
status foo:6443 a
wait_for 20 reason_is BadRestConfig "untrusted server endpoint"
ok $? "a server that is none"
is "$(asked)" 0 "for all this the program was not run"
server=$(field w1-token.kubeconfig server)
status "$server" a
wait_for 20 reason_is Active
ok $? "a good one: the worker is connected"
is "$(asked)" 1 "the program was run once"
is "$(sed 's/ {.*//' "$dir/asked")" "north me in" "with its arguments and variables"
sed 's/^[^{]*//' "$dir/asked" | jq -e --arg s "$server" '.kind == "ExecCredential" and .spec.cluster.server == $s and
	.spec.cluster.config.audience == "a" and .spec.interactive == false' >"$dir/out"
ok $? "C-2.4c: and told which cluster it is for"
submit mgr one 300 "$OURS" >/dev/null
wait_for 40 complete one
ok $? "W-I57: a job runs there"
before=$(told ClientConnectionFailed)

# The token is refused from now on; the next one lives for eight seconds.
answer t2 ',"expirationTimestamp":"@SOON@"'
lend t2
submit mgr two 300 "$OURS" >/dev/null
wait_for 40 complete two
ok $? "a token that is refused: the program gives another, and the next job runs"
pem() { # KEY: of w1's kubeconfig with a client certificate, as JSON
	field w1.kubeconfig "$1" | base64 -d | jq -Rs .
}
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientCertificateData":%s,"clientKeyData":%s}}\n' \
	"$(pem client-certificate-data)" "$(pem client-key-data)" >"$dir/answer.tmp" && mv "$dir/answer.tmp" "$dir/answer"
renewed() {
	[ "$(asked)" -ge 3 ]
}
wait_for 20 renewed
ok $? "one that is about to expire is renewed"
lend none
submit mgr three 300 "$OURS" >/dev/null
wait_for 40 complete three
ok $? "and what came, a certificate, is used"
is "$(told ClientConnectionFailed)" "$before" "none of this had an effect: the link never went down"

# The way changes while the program is broken.
: >"$dir/broken"
status "$server" b
wait_for 20 reason_is ClientConnectionFailed \
	"getting credentials: exec: executable $dir/give failed with exit code 3: \"no luck\""
ok $? "a program that fails: its end and what it said are in the condition"
answer "$(field w1-token.kubeconfig token)"
rm "$dir/broken"
wait_for 30 reason_is Active
ok $? "it works again: connected"
tail -n 1 "$dir/asked" | grep -q '"audience":"b"'
ok $? "for the profile as it is now"
api mgr DELETE $PROFILES/p1 >/dev/null
wait_for 20 reason_is BadClusterProfile "not found"
ok $? "W-I57: the profile is deleted: the link is cut"
grep -c -e '"t1"' -e '"t2"' -e "$(field w1-token.kubeconfig token)" "$dir/m.log" >"$dir/out"
is "$(cat "$dir/out")" 0 "no token is in the log"
is "$(mutations 0 | grep -c "^w1 POST $HERE 201")" 3 "each job was made there once"
notes "$dir/m.log"
done_testing
