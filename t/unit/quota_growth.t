#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A decision of the quota tree costs the same however many workloads there are: its instructions are
# counted with 1,000 and with 20,000 of them below the same 32 leaves.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lib/instructions.sh
. t/lib/instructions.sh
tap_said=$B/quota_growth.log
FAN=2 ROUNDS=100 t/bench/quota_instructions "$B/t/bench/quota" 1000 20000 >"$tap_said" 2>&1
ok $? "no operation takes 10 % more instructions with 20 times as many workloads"
done_testing
