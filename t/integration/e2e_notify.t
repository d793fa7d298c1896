#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The daemon below a service manager: ready once it listens, which needs no lease; signs of life
# from the main loop; stopping when it is told to end.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need perl
tap_said=$dir/heard

# Writes each message that comes to the socket as one line, with | between its parts.
perl -MIO::Socket::UNIX -MSocket -e '
	my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die "no socket: $!";
	$| = 1;
	while (defined $s->recv(my $m, 4096)) {
		$m =~ s/\n$//;
		$m =~ tr/\n/|/;
		print "$m\n";
	}' "$dir/notify" >"$dir/heard" 2>&1 &
FLEET_PIDS="$FLEET_PIDS $!"
wait_for 60 test -S "$dir/notify"
ok $? "a service manager listens"

heard() { # LINE: the whole of a message
	grep -qxF -e "$1" "$dir/heard"
}
beats() {
	grep -c '^WATCHDOG=1$' "$dir/heard"
}
more_beats() { # THAN
	[ "$(beats)" -gt "$1" ]
}
# fleet_manager NAME, as the service manager starts it.
service() {
	export NOTIFY_SOCKET="$dir/notify" WATCHDOG_USEC=1000000
	fleet_manager "$@"
	service_rc=$?
	unset NOTIFY_SOCKET WATCHDOG_USEC
	return $service_rc
}

FLEET_WAIT=60
fleet_kubesim && fleet_plugins && service leader
ok $? "a fleet is up"
wait_for 60 heard 'READY=1|STATUS=leads'
ok $? "the leader is ready, and leads"
is "$(head -n 1 "$dir/heard")" 'STATUS=starts' "it said first that it starts"
leader=$MANAGER_PID
before=$(beats)
wait_for 60 more_beats $((before + 1))
ok $? "its loop gives signs of life"
kill -TERM "$leader"
wait_for 60 heard 'STOPPING=1|STATUS=ends'
ok $? "told to end, it says that it stops"
wait "$leader"
ok $? "and ends with status 0"

# The Lease is another's, who never gives it back.
fleet_manager holder
holder=$MANAGER_PID
wait_for 60 grep -q '"msg":"leading"' "$dir/holder.log"
ok $? "another process holds the lease"
kill -STOP "$holder"
: >"$dir/heard"
service standby
wait_for 60 heard 'READY=1|STATUS=is ready to lead; waits for the lease'
ok $? "a standby is ready, too"
kill -KILL "$MANAGER_PID"
kill -CONT "$holder"

NOTIFY_SOCKET=run/notify "$B/multikueued" --config "$dir/leader.yaml" --kubeconfig "$dir/clusters/mgr.kubeconfig" >"$dir/refused" 2>&1
is $? 1 "a socket that cannot be meant ends the start"
grep -q 'NOTIFY_SOCKET: expected .*found \\"run/notify\\"' "$dir/refused"
ok $? "and is named"
notes "$dir"/*.log "$dir/refused"
done_testing
