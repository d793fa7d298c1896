#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue worker` has the rights of conf/rbac/worker.yaml in it, byte for byte.
#   UPDATE=1 t/cli/rights.t    after `make rbac`: writes core/cli/worker/rights.inc anew
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh

{
	echo '/* SPDX-License-Identifier: Apache-2.0 */'
	echo '/* The lines of conf/rbac/worker.yaml. Written by t/cli/rights.t. */'
	sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' conf/rbac/worker.yaml
} >"$tmp/rights.inc"
[ -z "${UPDATE:-}" ] || cp "$tmp/rights.inc" core/cli/worker/rights.inc
diff -u core/cli/worker/rights.inc "$tmp/rights.inc" >"$tmp/diff" 2>&1
ok $? "the rights are those of conf/rbac/worker.yaml (UPDATE=1 $0)"
sed 's/^/#   /' "$tmp/diff" | head -40

done_testing
