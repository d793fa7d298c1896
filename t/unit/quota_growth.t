#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A decision of the quota tree costs the same however many workloads there are: its instructions are
# counted with 1,000 and with 20,000 of them below the same 32 leaves.
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
echo 1..1
if FAN=2 ROUNDS=100 t/bench/quota_instructions "$B/t/bench/quota" 1000 20000 >"$B/quota_growth.log" 2>&1; then
	echo "ok 1 - no operation takes 10 % more instructions with 20 times as many workloads"
else
	echo "not ok 1 - no operation takes 10 % more instructions with 20 times as many workloads"
	sed 's/^/# /' "$B/quota_growth.log"
fi
