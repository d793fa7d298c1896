#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubesim answers as kube-apiserver does: transcript.yaml is played against both.
. "$(dirname "$0")/lib.sh"

"$FLEET" transcript --kubeconfig "$MK_REAL_DIR/bare/kubeconfig" --script "$here/transcript.yaml" \
	>"$WORK/real" 2>"$WORK/err"
ok $? "kube-apiserver answers every step" || diag "$(cat "$WORK/err")"
is "$(grep -c '^## ' "$WORK/real")" "$(grep -c '^- name:' "$here/transcript.yaml")" "no step is left out"
cp "$WORK/real" "$here/../../build/real/transcript.real"
done_testing
