#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A worker's name hangs in the name service: multikueued's loop does not stand still, and the other
# workers go on. The name server is a socket that never answers, in a network of the test's own (it
# needs root: in a user namespace of its own, root's folders would seem to belong to another user,
# and the loader trusts no plugin in those).
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ -z "${E2E_INSIDE:-}" ]; then
	[ "$(id -u)" = 0 ] || {
		echo "1..0 # SKIP only root can make a network without a name service"
		exit 0
	}
	unshare -nm true 2>/dev/null || {
		echo "1..0 # SKIP unshare cannot make namespaces here"
		exit 0
	}
	E2E_INSIDE=1 exec unshare -nm "$0"
fi
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq perl base64
seconds=${E2E_SECONDS:-12}

# The loopback device comes up; a name server that hears and says nothing;
# w2's name is known, w1's is not.
perl -MSocket -e '
	socket(my $s, PF_INET, SOCK_DGRAM, 0) or die;
	my $up = pack("a16 s x22", "lo", 0x41);
	ioctl($s, 0x8914, $up) or die;
	bind($s, pack_sockaddr_in(53, INADDR_LOOPBACK)) or die;
	syswrite STDOUT, "ready\n";
	while (defined recv($s, my $q, 512, 0)) { syswrite STDOUT, "asked\n" }' >"$dir/dns" 2>&1 &
FLEET_PIDS="$FLEET_PIDS $!"
printf 'nameserver 127.0.0.1\noptions timeout:30 attempts:1\n' >"$dir/resolv.conf"
printf '127.0.0.1 localhost\n127.0.0.1 w2.good.test\n' >"$dir/hosts"
echo 'hosts: files dns' >"$dir/nsswitch.conf"
for file in resolv.conf hosts nsswitch.conf; do
	mount --bind "$dir/$file" /etc/$file || {
		echo "1..0 # SKIP /etc/$file cannot be replaced here"
		exit 0
	}
done
wait_for 10 grep -q ready "$dir/dns"
ok $? "a name server that never answers"

lead() { # WORKER NAME: the worker's kubeconfig names its server so
	config=$(api mgr GET "/api/v1/namespaces/kueue-system/secrets/$1-kubeconfig" | jq -r .data.kubeconfig | base64 -d |
		sed "s|^\( *\)server: https://[^:]*:|\1tls-server-name: 127.0.0.1\n\1server: https://$2:|" | base64 -w0)
	curl -sS -o /dev/null -w '%{http_code}' --max-time 10 --cacert "$dir/mgr.ca" -X PATCH \
		-H "Authorization: Bearer $(field mgr-token.kubeconfig token)" -H 'Content-Type: application/merge-patch+json' \
		--data-binary "{\"data\":{\"kubeconfig\":\"$config\"}}" \
		"$(field mgr-token.kubeconfig server)/api/v1/namespaces/kueue-system/secrets/$1-kubeconfig"
}

fleet_kubesim --log "$dir/requests" && fleet_plugins
ok $? "API servers are up"
is "$(lead w1 w1.hang.test)" 200 "w1 has a name that hangs"
is "$(lead w2 w2.good.test)" 200 "w2 has a name that is found"
fleet_manager m
ok $? "multikueued is up"

# Callbacks that took longer than 1 ms, and those of them that took at most 200 ms: one line a look.
look() {
	curl -sS --max-time 5 "http://127.0.0.1:$MANAGER_PORT/metrics" | awk '
		$1 == "multikueue_loop_stall_seconds_bucket{le=\"0.2\"}" { short = $2 }
		$1 == "multikueue_loop_stall_seconds_count" { all = $2 }
		$1 == "multikueue_loop_stall_max_seconds" { print all + 0, short + 0, $2 }'
}
wait_for 30 grep -q asked "$dir/dns"
ok $? "the name server was asked"
(
	end=$(($(date +%s) + seconds))
	while [ "$(date +%s)" -lt $end ]; do
		look
		sleep 0.2
	done >"$dir/stalls"
) &
looks=$!
FLEET_PIDS="$FLEET_PIDS $looks"
"$B/demo" --dir "$dir/clusters" --clusters mgr,w2,w3 --jobs 30 --limit 60 --figures "$dir/figures" >"$dir/demo.out" 2>&1
is "$(figure "$dir/figures" finished)" 30 "all jobs finish on the other workers"
is "$(count w1 $WORKLOADS)" 0 "w1 got nothing"
wait $looks
down() { # w1 is down for that reason
	api mgr GET /apis/kueue.x-k8s.io/v1beta2/multikueueclusters/w1 |
		jq -e '.status.conditions[0] | .status == "False" and (.message | contains("lookup w1.hang.test: i/o timeout"))'
}
wait_for 30 down
ok $? "and says why: the lookup had no answer in time"

# A lookup that stalls the loop does so for seconds, each time. A machine that is busy
# with other things puts callbacks aside for some 20 ms, which says nothing of names.
set -- $(awk '{ n++; long = $1 - $2; max = $3 } END { printf "%d %d %.4f", n, long, max }' "$dir/stalls")
echo "# $1 looks: $2 callbacks longer than 200 ms, the longest $3 s"
[ "$1" -ge $((seconds * 2)) ]
ok $? "metrics are answered all the time"
[ $(($2 * 10)) -lt "$1" ]
ok $? "the loop does not stand for 200 ms"
awk "BEGIN { exit !($3 < 1) }"
ok $? "nor ever for a second"
notes "$dir/demo.out" "$dir/m.log"
done_testing
