#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The scripted stories of the simulation (t/sim/scenario.c): each thing that goes badly wrong, and what must happen.
# SIZE=n for another number of jobs than 100.
cd "$(dirname "$0")/../.." || exit 1
exec "${B:-build/dev}/sim" --scenario all ${SIZE:+--size "$SIZE"}
