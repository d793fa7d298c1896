#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conf/rbac is what `make rbac` would write now, and a plugin that is
# dropped in gets its rule by itself.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh

mkdir -m 755 "$dir/plugins"
chmod 755 "$dir"
install -m 755 "$B"/plugins/*.so "$dir/plugins"
sed "s|directory: .*|directory: $dir/plugins|" conf/multikueued.yaml >"$dir/config.yaml"
for side in manager worker; do
	"$B/multikueued" --print-$side-rbac --config "$dir/config.yaml" >"$dir/$side.yaml" 2>"$dir/err"
	ok $? "the rights on a $side are printed"
	diff -u conf/rbac/$side.yaml "$dir/$side.yaml" >"$dir/diff"
	rc=$?
	ok $rc "conf/rbac/$side.yaml is up to date (make rbac)"
	[ $rc = 0 ] || sed 's/^/# /' "$dir/diff"
done

# A status without a subresource is a part of the object: a right to write it would grant nothing.
install -m 644 conf/adapters/workflow.yaml "$dir/plugins"
"$B/multikueued" --print-manager-rbac --config "$dir/config.yaml" 2>"$dir/err" >"$dir/workflow.yaml"
is "$(grep -A1 'resources: .workflows' "$dir/workflow.yaml" | tr -s ' \n' ' ')" " resources: [workflows] verbs: [get, list, watch, patch] " \
	"where a kind has no status of its own, the object may be written, and nothing else"
rm "$dir/plugins/workflow.yaml"

# The aggregated API needs these besides.
rights() {
	"$B/multikueued" --print-manager-rbac --config "$1" 2>"$dir/err"
}
sed 's/^multiKueue:$/&\n  visibility: {bindAddress: ":8444"}/' "$dir/config.yaml" >"$dir/visibility.yaml"
rights "$dir/config.yaml" >"$dir/without.yaml"
rights "$dir/visibility.yaml" | tail -n "+$(($(wc -l <"$dir/without.yaml") + 1))" >"$dir/besides.yaml"
sed -n '/^---/,$p' conf/visibility/rights.yaml | diff -u - "$dir/besides.yaml" >"$dir/diff"
ok $? "conf/visibility/rights.yaml is what the aggregated API needs besides" || sed 's/^/# /' "$dir/diff"

# Without a webhook its rights are not wanted; with certificates that another controller makes,
# those for the Secret and the CA are not wanted.
granted() {
	"$B/multikueued" --print-manager-rbac --config "$dir/config.yaml" 2>"$dir/err" |
		grep -c -e localqueues -e multikueue-queues -e mutatingwebhookconfigurations -e multikueue-webhook-server-cert
}
is "$(granted)" 4 "a configuration with a webhook prints what it needs"
printf 'internalCertManagement: {enable: false}\n' >>"$dir/config.yaml"
is "$(granted)" 2 "with certificates from files it needs less"
sed -i '/^webhook:/,/^ /d' "$dir/config.yaml"
is "$(granted)" 0 "without a webhook nothing"

cp -r sdk/template "$dir/widget"
make -s -C "$dir/widget" SDK="$PWD/sdk" >"$dir/make" 2>&1
ok $? "the template of the SDK is built" || sed 's/^/# /' "$dir/make"
install -m 755 "$dir/widget/widget.so" "$dir/plugins"
"$B/multikueued" --print-worker-rbac --config "$dir/config.yaml" 2>"$dir/err" | grep -q 'resources: \[widgets\]'
ok $? "a plugin that is dropped in gets its rule"
done_testing
