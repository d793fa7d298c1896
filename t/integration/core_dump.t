#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The daemon leaves no core file when it crashes, whatever limit it was started with, and other
# processes of its user do not get at its memory.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq setpriv
case ${B##*/} in asan | fuzz) echo "1..0 # SKIP SKIP-CI-OK a sanitizer needs to look into its process" && exit 0 ;; esac

fleet_kubesim && fleet_plugins && mkdir "$dir/bin" "$dir/cores"
ok $? "a fleet is up" || done_testing
# Root may read all memory, so that it is another user who is asked.
as=
if [ "$(id -u)" = 0 ]; then
	as='setpriv --reuid=65532 --regid=65532 --clear-groups'
	chmod -R a+rX "$dir/clusters"
	chown 65532 "$dir/cores"
fi
daemon=$(realpath "$B/multikueued")
# shellcheck disable=SC2086
$as "$daemon" --version >"$dir/out" 2>&1 || {
	echo "1..1 # SKIP SKIP-CI-OK another user cannot run $daemon"
	exit 0
}
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$as" "$daemon" >"$dir/bin/multikueued"
chmod 755 "$dir/bin/multikueued"
B=$dir/bin
cd "$dir/cores" || exit 1

# Does a program that crashes here leave a core file? $as is several words, or none.
ulimit -c unlimited 2>"$dir/out"
# shellcheck disable=SC2086,SC2016
$as sh -c 'kill -SEGV $$' >"$dir/out" 2>&1
cores() {
	find "$dir/cores" -type f | wc -l
}
seen=$(cores)
rm -f "$dir/cores"/*

# shellcheck disable=SC2086
$as sleep 600 &
FLEET_PIDS="$FLEET_PIDS $!"
other=$!
# shellcheck disable=SC2086
reads() { # PID
	$as cat "/proc/$1/maps" >"$dir/out" 2>&1 && [ -s "$dir/out" ]
}
wait_for 10 reads $other
ok $? "a process of the user reads the maps of another"
for number in 11 6; do
	signal=$(kill -l $number)
	fleet_manager "m-$signal" && wait_for 60 grep -q '"cluster is connected","cluster":"w1"' "$dir/m-$signal.log"
	ok $? "$signal: the daemon has credentials"
	! reads "$MANAGER_PID" && grep -q 'ermission denied' "$dir/out"
	ok $? "$signal: but not its maps"
	# shellcheck disable=SC2086
	! $as head -c 1 "/proc/$MANAGER_PID/environ" >"$dir/out" 2>&1
	ok $? "$signal: nor its environment"
	[ "$(stat -c %u "/proc/$MANAGER_PID/maps")" != "$(stat -c %u "/proc/$other/maps")" ]
	ok $? "$signal: for it is not dumpable"
	is "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/$MANAGER_PID/limits")" "0 0" "$signal: its limit for core files is 0, and stays"
	kill -$signal "$MANAGER_PID"
	wait "$MANAGER_PID" 2>"$dir/out"
	is $? $((128 + number)) "$signal: it crashes"
	if [ "$seen" -gt 0 ]; then
		is "$(cores)" 0 "$signal: without a core file"
	else
		skip "$signal: without a core file" "$(cat /proc/sys/kernel/core_pattern) writes none here SKIP-CI-OK"
	fi
done
cd / || exit 1
notes "$dir"/*.log
done_testing
