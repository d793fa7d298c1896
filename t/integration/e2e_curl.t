#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# network.transport: curl. Some of the other tests once more, with libcurl for all servers; make
# test-curl runs all of them so. CURL_TESTS: which.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
need curl jq
# Requests, a server that hangs, credentials that change, a cut at any moment, and the fence.
tests=${CURL_TESTS:-e2e_happy e2e_bad_worker e2e_path e2e_kill e2e_standby}
out=$(mktemp)
child=
finish() {
	[ -z "$child" ] || kill "$child" 2>/dev/null
	rm -f "$out"
}
trap finish EXIT
trap 'exit 1' HUP INT PIPE TERM

if [ "${FLEET_TRANSPORT:-auto}" = curl ]; then
	echo "1..0 # SKIP SKIP-CI-OK: all tests run over libcurl"
	exit 0
fi
for t in $tests; do
	FLEET_TRANSPORT=curl "t/integration/$t.t" >"$out" 2>&1 &
	child=$!
	wait "$child"
	ok $? "$t over libcurl: $(grep -c '^ok' "$out") checks" || grep -A4 '^not ok\|^#' "$out" | sed 's/^/# /'
	child=
done
done_testing
