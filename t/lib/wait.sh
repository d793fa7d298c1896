# SPDX-License-Identifier: Apache-2.0
# Waiting, for every test and script in sh. Sourced, not run.
# shellcheck shell=sh

# Waits until a command succeeds, and fails when it has not within so many
# seconds: wait_for SECONDS COMMAND... The longer it has waited, the less often
# it asks: each time costs some processes, which a dozen tests at once feel.
wait_for() {
	wait_all=$1
	wait_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		wait_left=$((wait_end - $(date +%s)))
		[ "$wait_left" -gt 0 ] || return 1
		case $((wait_all - wait_left)) in
		0 | 1) sleep 0.05 ;;
		[2-4]) sleep 0.2 ;;
		*) sleep 0.5 ;;
		esac
	done
}
