#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What it costs to ask multikueued.io/placement, which compares all workers: instructions of the
# passes in which it is asked, counted by callgrind, twice for each job. A worker costs no more in a
# fleet of 1,000 than in one of 20, and at most what the budget allows. Lower it when the count has
# fallen.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
BUDGET=26000 # instructions for each worker of a question
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
cost() { # WORKERS JOBS: instructions of all passes
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --toggle-collect=workload_pass \
		"$B/t/unit/engine_fleet_places" "$1" "$2" 2>&1 | awk '/Collected/ { print $4 }'
}
per_question() { # WORKERS
	echo $((($(cost "$1" 13) - $(cost "$1" 3)) / 20))
}
check() { # CONDITION NAME
	n=$((n + 1))
	if [ "$1" -ne 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
	fi
}
n=0
echo 1..2
few=$(per_question 20)
many=$(per_question 1000)
check $((few > 0 && many > 0 && many / 1000 <= few / 20)) \
	"a worker costs no more among 1,000 than among 20"
check $((many > 0 && many / 1000 <= BUDGET)) \
	"a question costs at most $BUDGET instructions for each of 1,000 workers"
echo "# 20 workers: $few, 1,000: $many"
