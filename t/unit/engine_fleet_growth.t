#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pass over a Workload that races costs the same whether its MultiKueueConfig takes 20 clusters or
# 1,000: instructions of workload_pass, counted by callgrind, of the passes that 50 changes bring.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lib/instructions.sh
. t/lib/instructions.sh
cost() { # WORKERS PASSES
	of_passes "$B/t/unit/engine_fleet" "$1" "$2"
}
per_pass() { # WORKERS
	echo $((($(cost "$1" 60) - $(cost "$1" 10)) / 50))
}
few=$(per_pass 20)
many=$(per_pass 1000)
[ "$few" -gt 0 ] && [ "$many" -gt 0 ] && [ "$many" -le "$few" ]
ok $? "a pass takes no more instructions with 1,000 clusters than with 20"
diag "20 clusters: $few, 1,000: $many"
done_testing
