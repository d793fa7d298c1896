#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pass over a Workload that races costs the same whether its MultiKueueConfig takes 20 clusters or
# 1,000: instructions of workload_pass, counted by callgrind, of the passes that 50 changes bring.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
case $B in
build/dev | build/release) ;;
*)
	echo "1..0 # SKIP SKIP-CI-OK instructions are counted in the flavours dev and release of gcc"
	exit 0
	;;
esac
if ! command -v valgrind >/dev/null; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT INT TERM
cost() { # WORKERS PASSES: instructions of all passes
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=workload_pass \
		"$B/t/unit/engine_fleet" "$1" "$2" 2>&1 | awk '/Collected/ { print $4 }'
}
per_pass() { # WORKERS
	echo $((($(cost "$1" 60) - $(cost "$1" 10)) / 50))
}
echo 1..1
few=$(per_pass 20)
many=$(per_pass 1000)
name="a pass takes no more instructions with 1,000 clusters than with 20"
if [ "$few" -gt 0 ] && [ "$many" -gt 0 ] && [ "$many" -le "$few" ]; then
	echo "ok 1 - $name"
else
	echo "not ok 1 - $name"
fi
echo "# 20 clusters: $few, 1,000: $many"
