#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scripted stories of the simulation (t/sim/scenario.c, features.c): each thing that goes badly
# wrong, and what must happen; together they meet the rows of the coverage table that are theirs.
# SIZE=n for another number of jobs than 100.
cd "$(dirname "$0")/../.." || exit 1
exec "${B:-build/dev}/sim" --scenario all ${SIZE:+--size "$SIZE"}
