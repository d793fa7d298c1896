#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs and plugins of a build, also one that is optimised over all files, are hardened:
# position independent, all symbols bound before the start and then read-only, no stack that runs,
# no relocation of code, guarded stacks, checked copies.
#
# Reads the build at $B (build/dev) as it is: build first. Flavours for tests are left out.
cd "$(dirname "$0")/../.." || exit 1
. t/integration/tap.sh
: "${B:=build/dev}"

case ${B##*/} in
dev | release | dev-clang | release-clang) ;;
*)
	skip "hardened" "the flavour of $B is for tests alone"
	done_testing
	;;
esac
if ! command -v readelf >/dev/null || ! command -v nm >/dev/null ||
	[ ! -f "$B/multikueued" ] || [ ! -f "$B/plugins/job.so" ]; then
	skip "hardened" "readelf, nm and the programs of \`make all\` in $B"
	done_testing
fi

tap_said=$(mktemp) || exit 1
trap 'rm -f "$tap_said"' EXIT

# each NAME FILES COMMAND: the command finds nothing wrong with a file, which is $f.
each() {
	: >"$tap_said"
	for f in $2; do
		eval "$3" || echo "$f" >>"$tap_said"
	done
	[ ! -s "$tap_said" ]
	ok $? "$1"
}
dynamic() { # PATTERN: of a line of the dynamic section
	readelf -dW "$f" | grep -q "$1"
}
segment() { # PATTERN: of a program header
	readelf -lW "$f" | grep -q "$1"
}
imports() { # PATTERN: of a symbol that the file takes from elsewhere
	nm -D --undefined-only "$f" | grep -q "$1"
}

programs="$B/multikueued $B/kubectl-multikueue $B/mk-plugin-check"
all="$programs $(echo "$B"/plugins/*.so)"
each "programs are position independent" "$programs" 'dynamic "FLAGS_1.*PIE"'
each "symbols are bound before the start" "$all" 'dynamic "FLAGS_1.*NOW"'
each "... and read-only from then on" "$all" 'segment GNU_RELRO'
each "no stack runs" "$all" 'segment "GNU_STACK.* RW  *0x"'
each "no code is relocated" "$all" '! dynamic TEXTREL'
each "stacks are guarded" "$programs" 'imports " __stack_chk_fail"'
each "copies are checked" "$programs" 'imports " __[a-z]*cpy_chk\| __[a-z]*printf_chk"'
done_testing
