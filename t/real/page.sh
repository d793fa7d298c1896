# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests that run what a page says: its blocks of commands, as an operator's
# shell would run them, with a kubeconfig of the planes. Source it after lib.sh.
# shellcheck shell=sh

# contexts PLANE=NAME...: $WORK/kubeconfig with a context of each NAME, the first one current, in
# which everything has that name; and kubectl in the PATH of blocks.
contexts()
{
	for c_one in "$@"; do
		"$KUBECTL" --kubeconfig "$MK_REAL_DIR/${c_one%%=*}/kubeconfig" config view --raw --flatten --minify -o json |
			jq --arg n "${c_one#*=}" '{clusters: [.clusters[0] + {name: $n}], users: [.users[0] + {name: $n}],
				contexts: [{name: $n, context: {cluster: $n, user: $n}}]}'
	done | jq -s '{apiVersion: "v1", kind: "Config", "current-context": .[0].contexts[0].name, clusters: map(.clusters[]),
		users: map(.users[]), contexts: map(.contexts[])}' >"$WORK/kubeconfig"
	mkdir -p "$WORK/bin"
	ln -s "$KUBECTL" "$WORK/bin/kubectl"
}

# blocks SED: the blocks of sh of a page, on standard input, each changed by SED, in files
# $WORK/block1, $WORK/block2, ...; n_blocks of them.
blocks()
{
	sed "$1" | awk -v dir="$WORK" '/^```sh$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print >(dir "/block" n) }'
	n_blocks=$(ls "$WORK" | grep -c '^block[0-9]*$')
}

# block N: runs it in $WORK/${tree:-.}; what it says is in $WORK/saidN.
block()
{
	(cd "$WORK/${tree:-.}" && PATH=$WORK/bin:$PATH KUBECONFIG=$WORK/kubeconfig sh -eu "$WORK/block$1") >"$WORK/said$1" 2>&1
}

# runs N DESC: a block that ends well.
runs()
{
	block "$1"
	ok $? "$2" || diag "$(cat "$WORK/block$1" "$WORK/said$1")"
}

block_says()
{
	block "$1" && grep -Eq -e "$2" "$WORK/said$1" && echo yes
}

# says N PATTERN DESC: a block that only reads; run until a line that it prints is like PATTERN.
says()
{
	becomes yes "$3" block_says "$1" "$2" || diag "$(cat "$WORK/block$1" "$WORK/said$1")"
}
