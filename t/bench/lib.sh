# SPDX-License-Identifier: Apache-2.0
# What the benches share: a folder of their own, CPU and metrics of processes, figures and how they
# are shown. Sourced by t/bench/* from the root of the project; B is the build folder. A figure is a
# line `name value`; what a name means is a line `name unit text` of the bench's own list.
# shellcheck shell=sh disable=SC2034,SC2154

# shellcheck source=t/demo/fleet.sh
. t/demo/fleet.sh
dir=$(mktemp -d)
bench_finish() {
	trap '' EXIT HUP INT PIPE TERM
	fleet_stop
	rm -rf "$dir"
}
trap bench_finish EXIT
trap 'exit 130' HUP INT PIPE TERM

# The daemon of BUILD with its plugins: bench_manager BUILD NAME [LEASE RENEW RETRY]. UNDER: a
# command that it runs under.
bench_manager() {
	bench_b=$B
	bench_build=$1
	shift
	B=$bench_build
	fleet_plugins
	if [ -n "${UNDER:-}" ]; then
		mkdir -p "$dir/under"
		printf '#!/bin/sh\nexec %s "%s/multikueued" "$@"\n' "$UNDER" "$bench_build" >"$dir/under/multikueued"
		chmod 755 "$dir/under/multikueued"
		B=$dir/under
	fi
	fleet_manager "$@"
	bench_rc=$?
	B=$bench_b
	return $bench_rc
}
# The loop stalls in its own time alone, not while other programs have the processors: the daemon
# goes before them where that is allowed.
bench_first() {
	! chrt -r 1 true 2>/dev/null || UNDER='chrt -r 1'
}

bench_ticks=$(getconf CLK_TCK)
cpu_ms() { # PID: user and system time of all threads
	sed 's/.*) //' "/proc/$1/stat" | awk -v t="$bench_ticks" '{ printf "%d", ($12 + $13) * 1000 / t }'
}
now_ms() {
	awk '{ printf "%d", $1 * 1000 }' /proc/uptime
}
calc() { # EXPRESSION, with three digits; 0 when it divides by 0
	awk "BEGIN { printf \"%.3f\", $1 }" 2>/dev/null || echo 0
}
field() { # FILE KEY: a value in a kubeconfig
	sed -n "s/^ *$2: //p" "$dir/clusters/$1"
}
# A request as the admin of a cluster: api CLUSTER METHOD PATH [DATA].
api() {
	[ -f "$dir/$1.ca" ] || field "$1-token.kubeconfig" certificate-authority-data | base64 -d >"$dir/$1.ca"
	curl -sS --max-time 60 --cacert "$dir/$1.ca" -H "Authorization: Bearer $(field "$1-token.kubeconfig" token)" \
		-H 'Content-Type: application/json' -X "$2" ${4:+--data-binary "$4"} "$(field "$1-token.kubeconfig" server)$3"
}
scrape() { # into $dir/metrics; what lasts since the last scrape begins anew
	curl -sS --max-time 60 "http://127.0.0.1:$MANAGER_PORT/metrics" >"$dir/metrics"
}
scraped() { # NAME
	awk -v k="$1" '$1 == k { print $2; found = 1 } END { if (!found) print 0 }' "$dir/metrics"
}
stall_begin() {
	scrape
	cp "$dir/metrics" "$dir/metrics.before"
}
# The longest stall since then in ms: as long as it was, where none before was longer; else the
# bound of the histogram that none exceeded.
stall_ms() {
	scrape
	awk '{ value = $2 * 1000 }
		/^multikueue_loop_stall_max_seconds / { if (now) max = value; else before = value }
		/^multikueue_loop_stall_seconds_bucket/ && !now { was[$1] = $2 }
		/^multikueue_loop_stall_seconds_bucket/ && now {
			n = $2 - was[$1]
			if (n > most) { most = n; at = $1 }
		}
		END {
			gsub(/[^0-9.]/, "", at)
			if (max > before) at = max; else if (most == 0) at = 1; else at *= 1000
			printf "%.3f", (at > 0 ? at : max)
		}' now=0 "$dir/metrics.before" now=1 "$dir/metrics"
}
links() { # how many are up
	curl -sS --max-time 60 "http://127.0.0.1:$MANAGER_PORT/status" | grep -o '"link":"up"' | wc -l
}
all_up() { # N
	[ "$(links)" -ge "$1" ]
}
put() { # NAME VALUE
	echo "$1 $2" >>"$figures"
}
got() { # NAME, from the figures
	sed -n "s/^$1 //p" "$figures" | tail -n 1
}

# The figures of FILE by the list on standard input: bench_table FILE.
bench_table() {
	awk -v file="$1" 'BEGIN { while ((getline line < file) > 0) { split(line, f, " "); value[f[1]] = f[2] } }
		$1 in value { name = $1; unit = $2 == "-" ? "" : $2; $1 = $2 = ""; sub(/^ */, "")
			printf "%-60s %12s %s\n", $0, value[name], unit }'
}
# The same as one JSON object.
bench_json() {
	awk 'BEGIN { printf "{" } { printf "%s\"%s\": %s", n++ ? ", " : "", $1, $2 } END { print "}" }' "$1"
}
# Medians of the figures in many files: bench_median FILE... As lines `name value`.
bench_median() {
	sort -k1,1 -k2,2g "$@" | awk '
		function flush() { if (n) printf "%s %s\n", last, v[int((n + 1) / 2)] }
		$1 != last { flush(); n = 0; last = $1 }
		{ v[++n] = $2 }
		END { flush() }'
}
# Two builds side by side: bench_compare BASE_FIGURES FIGURES, the list on standard input.
bench_compare() {
	printf '%-60s %12s %12s %8s\n' "" base this ratio
	awk -v one="$1" -v two="$2" 'BEGIN {
			while ((getline line < one) > 0) { split(line, f, " "); a[f[1]] = f[2] }
			while ((getline line < two) > 0) { split(line, f, " "); b[f[1]] = f[2] } }
		$1 in b { name = $1; unit = $2 == "-" ? "" : " (" $2 ")"; $1 = $2 = ""; sub(/^ */, "")
			printf "%-60s %12s %12s %8s\n", $0 unit, a[name], b[name], (a[name] > 0 ? sprintf("%.3f", b[name] / a[name]) : "-") }'
}
