#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The daemon as a process: command line, endpoints, leadership between two
# processes, signals. Against kubesim.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
mk=$B/multikueued
dir=$(mktemp -d "${TMPDIR:-/tmp}/mk-net-daemon.XXXXXX") || exit 1
pids=

# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
# shellcheck source=t/lib/wait.sh
. t/lib/wait.sh

finish() {
	for p in $pids; do
		kill -CONT "$p" 2>/dev/null
		kill -KILL "$p" 2>/dev/null
	done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 1' INT TERM

config() { # file elect
	cat >"$1" <<END
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health:
  healthProbeBindAddress: 127.0.0.1:0
metrics:
  bindAddress: 127.0.0.1:0
leaderElection:
  leaderElect: $2
  leaseDuration: 4s
  renewDeadline: 3s
  retryPeriod: 500ms
multiKueue:
  plugins:
    directory: $PWD/$B/plugins
  network:
    allowLoopback: true
    transport: ${FLEET_TRANSPORT:-auto}
END
}

# start NAME CONFIG: a daemon; sets pid
start() {
	"$mk" --config "$2" --kubeconfig "$dir/ks/mgr.kubeconfig" >"$dir/$1.out" 2>"$dir/$1.log" &
	pid=$!
	pids="$pids $pid"
}

port_of() { sed -n 's/.*"listening","what":"'"${2:-health}"'".*"port":\([0-9]*\).*/\1/p' "$dir/$1.log" | head -n 1; }
# secured NAME [CURL OPTION...]: /metrics over TLS
secured() {
	secured_port=$(port_of "$1" metrics)
	shift
	curl -sk --max-time 15 -o "$dir/body" -w '%{http_code}' "$@" "https://127.0.0.1:$secured_port/metrics"
}
get() { curl -s --max-time 5 -o "$dir/body" -w '%{http_code}' "http://127.0.0.1:$(port_of "$1")$2"; }
answers() { [ "$(get "$1" "$2")" = "$3" ]; }
leads() { grep -q '"msg":"leading"' "$dir/$1.log"; }
ended() { grep -q '"msg":"ended"' "$dir/$1.log"; }
three_up() { answers "$1" /status 200 && [ "$(grep -o '"link":"up"' "$dir/body" | wc -l)" = 4 ]; }

# --- the command line ---------------------------------------------------------------------------
config "$dir/elect.yaml" true
config "$dir/alone.yaml" false
"$mk" --version | grep -q "^multikueued $(cat VERSION)$"
ok $? "--version"
"$mk" --help | grep -q '^Examples:'
ok $? "--help has examples"
"$mk" --bogus 2>"$dir/err"
[ $? = 2 ] && grep -q -- --help "$dir/err"
ok $? "an unknown option: exit 2, and where to look"
[ "$("$mk" --config "$dir/elect.yaml" --list-plugins 2>/dev/null | wc -l)" -ge 2 ]
ok $? "--list-plugins: a line each"
"$mk" --check-config "$dir/elect.yaml" >"$dir/out"
ok $? "--check-config: a good file"
sed 's/allowLoopback/allowLoopbakc/' "$dir/elect.yaml" >"$dir/bad.yaml"
"$mk" --check-config "$dir/bad.yaml" >"$dir/out"
[ $? = 1 ] && grep -q "bad.yaml:[0-9]*: .*allowLoopbakc" "$dir/out"
ok $? "--check-config: a bad one, with the line"
{
	cat "$dir/elect.yaml"
	echo 'tls: {cipherSuites: [TLS_RSA_WITH_RC4_128_SHA]}'
} >"$dir/bad.yaml"
"$mk" --check-config "$dir/bad.yaml" >"$dir/out" 2>"$dir/err"
[ $? = 1 ] && grep -q 'bad.yaml: tls: none of the cipher suites' "$dir/out"
ok $? "--check-config: cipher suites that the TLS library lacks"
sed 's/leaderElect: true/&\n  resourceName: c1f6bfd2.kueue.x-k8s.io/' "$dir/elect.yaml" >"$dir/theirs.yaml"
"$mk" --check-config "$dir/theirs.yaml" >"$dir/out"
[ $? = 0 ] && grep -q "theirs.yaml:[0-9]*: warning: .*is Kueue's own Lease and is left to it" "$dir/out"
ok $? "--check-config: Kueue's own file is good, and whose Lease it names is told"
"$mk" --config "$dir/elect.yaml" --print-kueue-config 2>/dev/null >"$dir/kueue.yaml"
grep -q leaseDuration "$dir/kueue.yaml" && ! grep -q allowLoopback "$dir/kueue.yaml"
ok $? "--print-kueue-config leaves our keys out"
env -u KUBERNETES_SERVICE_HOST "$mk" --config "$dir/elect.yaml" 2>"$dir/err"
[ $? = 1 ] && grep -q -- --kubeconfig "$dir/err"
ok $? "no credentials: exit 1, and what to give"
"$mk" --config "$dir/none.yaml" 2>"$dir/err"
[ $? = 1 ] && grep -q none.yaml "$dir/err"
ok $? "no such configuration: exit 1, and its name"

# --- one process ----------------------------------------------------------------------------------
"$B/kubesim" --dir "$dir/ks" --setup demo --ready-file "$dir/ready" --log "$dir/requests" >"$dir/ks.log" 2>&1 &
pids="$pids $!"
wait_for 20 test -f "$dir/ready"
ok $? "kubesim serves"
start a "$dir/elect.yaml"
a=$pid
if ! wait_for 20 leads a; then
	sed 's/^/# /' "$dir"/*.log | cut -c1-300
	echo "Bail out! the daemon does not start"
	exit 1
fi
ok 0 "the only process leads"
wait_for 20 answers a /readyz 200
ok $? "/readyz turns 200"
answers a /healthz 200
ok $? "/healthz is 200"
wait_for 20 three_up a
ok $? "/status shows the manager and three workers connected"
answers a /metrics 200 && grep -q '^multikueue_leader 1' "$dir/body" &&
	grep -q '^multikueue_link_up{cluster="w1"} 1' "$dir/body" &&
	grep -q '^multikueue_requests_total{cluster="manager",verb="GET",code="200"}' "$dir/body" &&
	grep -q '^multikueue_loop_stall_max_seconds ' "$dir/body" &&
	grep -q '^process_resident_memory_bytes [1-9]' "$dir/body"
ok $? "/metrics: leader, links, requests, stall, memory"
is "$(secured a) $(cat "$dir/body")" "401 Unauthorized" "C-7.4d: metrics for others are behind TLS and a token"
curl -s --max-time 5 "http://127.0.0.1:$(port_of a metrics)/metrics" >/dev/null
[ $? != 0 ]
ok $? "C-7.4d: and not there in the clear"
is "$(secured a -H "Authorization: Bearer who")" 500 "C-7.4d: an API server that cannot say who it is: no"
answers a /status 200 &&
	grep -qF '"kueue":{"takenFor":"0.19","configured":false,"seems":"not known","differs":false}' "$dir/body"
ok $? "/status: which Kueue it takes the core for; this server does not tell what it is"
grep '"msg":"the Kueue beside the daemon"' "$dir/a.log" | grep -q '"taken_for":"0.19".*"seems":"not known"'
ok $? "the log says so, too"
is "$(grep -c '/openapi/' "$dir/requests")" 1 "and it was asked for once"
answers a /nothing 404
ok $? "other paths are 404"
# Twice as many as there are places; each that is sent away comes back.
perl -MIO::Socket::INET -MIO::Select -e '
	my ($port, $ready) = @ARGV;
	my $s = IO::Select->new;
	my $new = sub { my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or return; $s->add($c) };
	$new->() for 1 .. 512;
	open(my $f, ">", $ready) or die;
	close($f);
	while (1) { for my $c ($s->can_read(1)) { $s->remove($c); close($c); $new->() } }
' "$(port_of a)" "$dir/silent" &
silent=$!
pids="$pids $silent"
wait_for 20 test -f "$dir/silent"
probed=0
for i in $(seq 10); do
	curl -s --max-time 1 -o "$dir/body" "http://127.0.0.1:$(port_of a)/healthz" && probed=$((probed + 1))
done
kill "$silent"
[ "$probed" -ge 8 ]
ok $? "512 silent clients do not starve the probes ($probed of 10 within a second each)"
! grep -q 'BEGIN\|eyJ\|Bearer' "$dir/a.log"
ok $? "no credentials in the log"

# --- two processes --------------------------------------------------------------------------------
start b "$dir/elect.yaml"
b=$pid
wait_for 20 answers b /readyz 200
ok $? "a standby is ready"
answers b /metrics 200 && grep -q '^multikueue_leader 0' "$dir/body"
ok $? "but does not lead"
holder() { sed -n 's/.*"lease":{[^}]*"holder":"\([^"]*\)".*/\1/p' "$dir/body"; }
answers a /status 200
led=$(holder)
answers b /status 200
[ -n "$led" ] && [ "$(holder)" = "$led" ] && grep -q '"lease":{"namespace":"kueue-system","name":"multikueued"' "$dir/body"
ok $? "/status of both says which Lease it is and who holds it"
grep '"msg":"leading"' "$dir/a.log" | grep -qF "$led"
ok $? "that is the one that leads"
grep '"msg":"another process holds the lease: waiting for it"' "$dir/b.log" | grep -qF "\"holder\":\"$led\""
ok $? "the standby logs whom it waits for"
agents() { # how many daemons' user agents are in the log of requests, of the form that ours have
	sed -n 's/.*"agent":"\([^"]*\)".*/\1/p' "$dir/requests" |
		grep -E '^multikueued/[0-9][^ ]* \(linux/[a-z0-9_]+\) [^ /]+_[0-9a-f-]{36}(/leader-election)?$' |
		sed 's|/leader-election$||' | sort -u | wc -l
}
is "$(agents)" 2 "the two can be told apart by their user agents"
kill -TERM "$a"
wait "$a"
ok $? "SIGTERM: exit 0"
wait_for 20 leads b
ok $? "the standby takes over at once, for the lease was given back"
start c "$dir/theirs.yaml"
c=$pid
wait_for 20 answers c /readyz 200
kill -STOP "$b"
wait_for 30 leads c
ok $? "a stopped leader is replaced"
kill -CONT "$b"
wait "$b"
[ $? = 1 ] && grep -q 'the lease is lost' "$dir/b.log"
ok $? "and ends with 1 when it wakes up"
kill -KILL "$c"
wait "$c" 2>/dev/null
start d "$dir/elect.yaml"
wait_for 30 leads d
ok $? "after kill -9 the next one leads when the lease has run out"
kill -TERM "$pid"
wait "$pid"
ok $? "and ends well"

# --- descriptors ----------------------------------------------------------------------------------
# Many containers get 1024 descriptors, and may have more for the asking.
descriptors() { ulimit "$@"; } # dash has -S and -H too
hard=$(descriptors -Hn)
soft=$(descriptors -Sn)
[ "$hard" != unlimited ] && [ "$hard" -le 1048576 ] || hard=1048576
descriptors -Sn 64
start few "$dir/alone.yaml"
descriptors -Sn "$soft"
wait_for 20 leads few
is "$(awk '/^Max open files/ { print $4 }' "/proc/$pid/limits")" "$hard" "the limit of descriptors is raised to what is allowed"
kill -TERM "$pid"
wait "$pid"
ok $? "and it ends well"

# --- without election -----------------------------------------------------------------------------
start e "$dir/alone.yaml"
e=$pid
wait_for 20 leads e
ok $? "without leader election it leads at once"
kill -INT "$e"
wait "$e"
ok $? "SIGINT ends it too"

# --- told to end at any moment --------------------------------------------------------------------
# early WORDS...: starts the daemon 40 times and sends SIGTERM each time a little later, to the last
# child of what was started. A signal before main() waits, since it is blocked there. Prints how
# often it ended with 0 within 20 s.
early() {
	perl -MPOSIX -MTime::HiRes=sleep -e '
		my $good = 0;
		sub children { my ($pid) = @_; open(my $f, "<", "/proc/$pid/task/$pid/children") or return; return split(" ", <$f> // "") }
		for my $n (0 .. 39) {
			my $set = POSIX::SigSet->new(SIGTERM);
			sigprocmask(SIG_BLOCK, $set);
			my $pid = fork() // die;
			exec(@ARGV) or die if $pid == 0;
			my $target = $pid;
			if ($ARGV[0] eq "unshare") {
				for (1 .. 2000) { ($target) = children($pid); last if $target && readlink("/proc/$target/exe") =~ /multikueued/; sleep(0.001) }
			}
			sleep($n * 0.004);
			kill("TERM", $target);
			my ($ended, $until) = (0, time + 20);
			while (!($ended = waitpid($pid, WNOHANG)) && time < $until) { sleep(0.002) }
			my $status = $?;
			if (!$ended) { kill("KILL", $target); waitpid($pid, 0) } elsif ($status == 0) { $good++ }
		}
		print $good' "$@"
}
is "$(early "$mk" --config "$dir/alone.yaml" --kubeconfig "$dir/ks/mgr.kubeconfig" 2>"$dir/early.log")" 40 \
	"SIGTERM at 40 early moments: exit 0 each time"
grep -q '"told to end, with nothing to drain: ending"' "$dir/early.log"
ok $? "... some before the loop, which the log says"
if unshare -p -f true 2>/dev/null; then
	is "$(early unshare -p -f "$mk" --config "$dir/alone.yaml" --kubeconfig "$dir/ks/mgr.kubeconfig" 2>/dev/null)" 40 "... also as process 1"
else
	skip "... also as process 1" "no right to make a namespace of processes"
fi
[ $tap_bad = 0 ] || sed 's/^/# /' "$dir"/*.log | cut -c1-300 | tail -n 60
done_testing
