#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Metrics over HTTPS: a real API server says who a token is and what it may.
. "$(dirname "$0")/lib.sh"
need_daemon

queue mgr
port=$(ports 1)
daemon_config
sed -i "s/^  bindAddress: .*/  bindAddress: \"127.0.0.1:$port\"/; s/^  enable: false/  enable: true/" "$WORK/multikueued.yaml"
daemon_start

# metrics TOKEN: status and first words of the answer
metrics()
{
	curl -sk --max-time 20 -o "$WORK/metrics" -w '%{http_code} ' -H "Authorization: Bearer $1" \
		"https://127.0.0.1:$port/metrics"
	grep '^[A-Za-z]' "$WORK/metrics" | head -n 1
}
account() # NAME: its token
{
	kn mgr create serviceaccount "$1" >/dev/null
	kn mgr create token "$1"
}
reader=$(account reader)
other=$(account other)
k mgr create clusterrolebinding "$T-reader" --clusterrole=multikueued-metrics-reader \
	--serviceaccount="$T:reader" >/dev/null
metrics_of_reader()
{
	metrics "$reader" | cut -c1-3
}
must 200 "C-7.4d: who was given the role reads them" metrics_of_reader
grep -q '^multikueue_link_up{cluster="manager"} 1' "$WORK/metrics"
ok $? "and they are ours"
is "$(metrics "$other")" "403 Authorization denied for user system:serviceaccount:$T:other" \
	"C-7.4d: another account is denied"
is "$(metrics nonsense)" "401 Unauthorized" "C-7.4d: a token that the API server did not give is refused"
is "$(curl -sk --max-time 20 "https://127.0.0.1:$port/metrics")" Unauthorized "C-7.4d: without a token nothing is shown"
k mgr delete clusterrolebinding "$T-reader" >/dev/null
daemon_end TERM
is "$daemon_rc" 0 "multikueued ends"
done_testing
