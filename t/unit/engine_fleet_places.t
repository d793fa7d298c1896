#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What it costs to ask multikueued.io/placement, which compares all workers: instructions of the
# passes in which it is asked, counted by callgrind, twice for each job. A worker costs no more in a
# fleet of 1,000 than in one of 20, and at most what the budget allows. Lower it when the count has
# fallen.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lib/instructions.sh
. t/lib/instructions.sh
BUDGET=26000 # instructions for each worker of a question
cost() { # WORKERS JOBS
	of_passes "$B/t/unit/engine_fleet_places" "$1" "$2"
}
per_question() { # WORKERS
	echo $((($(cost "$1" 13) - $(cost "$1" 3)) / 20))
}
few=$(per_question 20)
many=$(per_question 1000)
[ "$few" -gt 0 ] && [ "$many" -gt 0 ] && [ $((many / 1000)) -le $((few / 20)) ]
ok $? "a worker costs no more among 1,000 than among 20"
[ "$many" -gt 0 ] && [ $((many / 1000)) -le $BUDGET ]
ok $? "a question costs at most $BUDGET instructions for each of 1,000 workers"
diag "20 workers: $few, 1,000: $many"
done_testing
