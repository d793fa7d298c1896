#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `kubectl multikueue doctor`: silent on a clean fleet; each planted mistake is found by name, with
# its object and a mend, and is gone when it was mended.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq perl openssl

KUEUE=/apis/kueue.x-k8s.io/v1beta2
HEAD='"apiVersion":"kueue.x-k8s.io/v1beta2"'
SECRETS=/api/v1/namespaces/kueue-system/secrets
mkdir -p "$dir/bin"
cp t/integration/kubectl_fake "$dir/bin/kubectl"

doctor() { # ARGUMENTS...: what it prints is in $dir/out
	PATH="$dir/bin:$PATH" "$B/kubectl-multikueue" doctor --kubeconfig "$dir/clusters/mgr-token.kubeconfig" \
		--server "http://127.0.0.1:$MANAGER_PORT" "$@" >"$dir/out" 2>&1
}
# Its findings: "NAME CLUSTER OBJECT", and whether each says found, expected and mend.
look() { # ARGUMENTS...
	doctor -o json "$@"
	looked=$?
	jq -r '.items[] | [.name, .cluster // "-", .object,
		(if ([.found, .expected, .mend] | all(length > 5)) then "" else "without words" end)] |
		join(" ") | rtrimstr(" ")' "$dir/out" 2>/dev/null
}
planted=0
finds() { # NAME CLUSTER OBJECT WORDS [ARGUMENTS...]: it is found, and its mend or what was found has the words
	finds_name=$1
	finds_line="$1 $2 $3"
	finds_words=$4
	shift 4
	planted=$((planted + 1))
	look "$@" >"$dir/found"
	[ $looked = 1 ] && grep -qx "$finds_line" "$dir/found" &&
		jq -r --arg n "$finds_name" '.items[] | select(.name == $n) | .found + " " + .mend' "$dir/out" | grep -q -e "$finds_words"
	ok $? "$finds_name" || {
		echo "# expected $finds_line ($finds_words), status $looked"
		sed 's/^/# found    /' "$dir/found"
		head -c 2000 "$dir/out" | sed 's/^/# /'
	}
}
clean() { # NAME [ARGUMENTS...]
	clean_name=$1
	shift
	look "$@" >"$dir/found"
	[ $looked = 0 ] && [ ! -s "$dir/found" ]
	ok $? "$clean_name" || {
		sed 's/^/# found    /' "$dir/found"
		head -c 2000 "$dir/out" | sed 's/^/# /'
	}
}
is_clean() {
	look "$@" >"$dir/found"
	[ $looked = 0 ]
}

fleet_kubesim && fleet_plugins && fleet_manager m
ok $? "a fleet is up"
wait_for 60 is_clean
doctor
is $? 0 "a clean fleet has no findings" || sed 's/^/# /' "$dir/out"
is "$(grep -c . "$dir/out")" 1 "... and that is one line" || sed 's/^/# /' "$dir/out"

notes "$dir/m.log"
done_testing
