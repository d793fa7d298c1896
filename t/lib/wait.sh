# SPDX-License-Identifier: Apache-2.0
# Waiting, for every test and script in sh. Sourced, not run.
# shellcheck shell=sh

# Waits until a command succeeds, and fails when it has not within so many
# seconds: wait_for SECONDS COMMAND...
wait_for() {
	wait_end=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$wait_end" ] || return 1
		sleep 0.05
	done
}
