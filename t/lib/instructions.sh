# SPDX-License-Identifier: Apache-2.0
# Instructions, counted by callgrind: the same figures under any load of the machine. Sourced from
# the root by tests in sh; skips the test where nothing can be counted.
# shellcheck shell=sh disable=SC2034

B=${B:-build/dev}
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
case $B in
build/dev | build/release) ;;
*)
	echo "1..0 # SKIP SKIP-CI-OK instructions are counted in the flavours dev and release of gcc"
	exit 0
	;;
esac
need valgrind

# Those of all passes over Workloads of a command.
of_passes() { # COMMAND...
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=workload_pass "$@" 2>&1 |
		awk '/Collected/ { print $4 }'
}
