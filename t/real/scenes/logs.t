#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue pods` and `logs` through the kubectl of these planes: nothing of them has a
# kubelet, so the workers are simulated ones, whose pods are processes.
. "$(dirname "$0")/../lib.sh"
KUBECTL="$KUBECTL" B="$root/build/${FLAVOUR:-dev}" "$root/t/integration/e2e_logs.t" >"$WORK/out"
ok $? "the commands, with kubectl at the end" || sed 's/^/# /' "$WORK/out"
is "$(grep -c '^ok .*kubectl: pods$' "$WORK/out")" 1 "... which was asked"
done_testing
