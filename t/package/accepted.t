#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An API server accepts each copy that the golden files of t/plan show, of the kinds that are
# Kubernetes' own: its own code decodes, defaults and validates them.
cd "$(dirname "$0")/../.." || exit 1
. t/integration/tap.sh
need jq
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_said=$tmp/out

t/real/accepts/build >"$tmp/out" 2>&1
rc=$?
if [ $rc = 77 ]; then
	echo "1..0 # SKIP $(tail -n 1 "$tmp/out")"
	exit 0
fi
ok $rc "Kubernetes' validation is built, from pinned modules" || done_testing

{
	sed -n 's/^create worker [^{]*//p' t/plan/kind/*.txt
	jq -c '.create // empty' t/plan/adapter/*/expect.json
} >"$tmp/copies"
build/accepts/accepts <"$tmp/copies" >"$tmp/said" 2>"$tmp/out"
ok $? "it judges all copies"
is "$(wc -l <"$tmp/said")" "$(wc -l <"$tmp/copies")" "each of them"
is "$(sed -n 's|^accepted \([^/]*\)/.*|\1|p' "$tmp/said" | sort -u | paste -sd' ')" "Deployment Job Pod StatefulSet" \
	"each kind of its own is among them"
is "$(grep -v '^accepted \|^unknown ' "$tmp/said")" "" "none of them is refused"

# what the checks are worth: copies that no API server takes
job='{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"ns"},"spec":'
pods='"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}'
said() { echo "$1" | build/accepts/accepts | cut -d' ' -f1; }
is "$(said "$job{$pods}}")" accepted "a Job"
is "$(said "$job{\"manualSelector\":true,$pods}}")" refused "one that selects its pods itself, without its selector"
is "$(said "$job{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},$pods}}")" refused "one with the selector of another"
is "$(said "$job{\"manualSelector\":true,\"selector\":{\"matchLabels\":{\"a\":\"c\"}},$pods}}")" refused \
	"one whose pods lost the labels of its selector"
done_testing
