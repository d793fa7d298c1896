#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The aggregated API while the front proxy's authority is replaced: the daemon takes what ConfigMap
# extension-apiserver-authentication says without a restart, and refuses certificates of the former
# authority once it is gone from there. Its own certificate's end is a metric.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq openssl

MAPS=/api/v1/namespaces/kube-system/configmaps
MAP=$MAPS/extension-apiserver-authentication

authority() { # NAME: all have one, as those that kubeadm makes
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$dir/$1.key" -out "$dir/$1.crt" -subj /CN=front-proxy-ca -days 2 2>/dev/null
}
client() { # AUTHORITY: $dir/AUTHORITY-client.pem
	openssl req -new -newkey rsa:2048 -nodes -keyout "$dir/client.key" -subj /CN=front-proxy-client -out "$dir/client.req" 2>/dev/null
	openssl x509 -req -in "$dir/client.req" -CA "$dir/$1.crt" -CAkey "$dir/$1.key" -CAcreateserial -days 1 \
		-extfile "$dir/client.ext" -out "$dir/client.crt" 2>/dev/null
	cat "$dir/client.crt" "$dir/client.key" >"$dir/$1-client.pem"
}
echo 'extendedKeyUsage = clientAuth' >"$dir/client.ext"
for name in former next stranger; do
	authority $name
	client $name
done

believe() { # METHOD PATH AUTHORITY...: writes the ConfigMap
	believe_method=$1
	believe_path=$2
	shift 2
	for believe_one in "$@"; do
		cat "$dir/$believe_one.crt"
	done >"$dir/believed.crt"
	api mgr "$believe_method" "$believe_path" "$(jq -n --rawfile ca "$dir/believed.crt" '{apiVersion: "v1", kind: "ConfigMap",
		metadata: {name: "extension-apiserver-authentication", namespace: "kube-system"}, data: {
		"requestheader-client-ca-file": $ca, "requestheader-allowed-names": "[\"front-proxy-client\"]",
		"requestheader-username-headers": "[\"X-Remote-User\"]", "requestheader-group-headers": "[\"X-Remote-Group\"]"}}')" |
		jq -e '.data' >/dev/null
}
# The status that a client with a certificate of the authority gets, for user jane.
status() { # AUTHORITY
	curl -sk --max-time 20 -o /dev/null -w '%{http_code}' --cert "$dir/$1-client.pem" -H 'X-Remote-User: jane' \
		"https://127.0.0.1:$port/apis/visibility.multikueued.io/v1alpha1/workloads"
}
gets() { # AUTHORITY STATUS
	[ "$(status "$1")" = "$2" ]
}
becomes() { # AUTHORITY STATUS NAME
	wait_for 90 gets "$1" "$2"
	is "$(status "$1")" "$2" "$3"
}

FLEET_MORE='  visibility: {bindAddress: "127.0.0.1:0"}'
fleet_kubesim && fleet_plugins && believe POST $MAPS former && fleet_manager m
ok $? "a fleet is up"
listens() {
	port=$(jq -r 'select(.msg == "listening" and .what == "visibility").port' "$dir/m.log")
	[ -n "$port" ]
}
wait_for 20 listens
becomes former 200 "a client of the authority is believed"
is "$(status next)" 401 "... one of another authority is not"

believe PATCH $MAP former next
becomes next 200 "an authority that was added counts, without a restart"
is "$(status former)" 200 "... beside the former one"
is "$(status stranger)" 401 "... and no other"

believe PATCH $MAP next
becomes former 401 "the former authority is gone: its certificates are refused"
is "$(status next)" 200 "... those of the next one are not"

api mgr DELETE $MAP >/dev/null
becomes next 401 "without the ConfigMap no client is believed"
grep -q '"msg":"whom API servers forward requests for is not known' "$dir/m.log"
ok $? "... and the log says why"
believe POST $MAPS next
becomes next 200 "it is back"

end=$(curl -sS "http://127.0.0.1:$MANAGER_PORT/metrics" | sed -n 's/^multikueue_visibility_certificate_end_seconds //p')
left=$(awk -v end="${end:-0}" -v now="$(date +%s)" 'BEGIN { printf "%d", (end - now) / 86400 + 0.5 }')
is "$left" 365 "a metric has the end of the certificate: it lives for a year"
is "$(grep -c '"msg":"started"' "$dir/m.log") $(kill -0 "$MANAGER_PID" && echo lives)" "1 lives" "all by one process"
notes "$dir/m.log"
done_testing
