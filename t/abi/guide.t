#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/write-an-adapter.md to the letter, in an empty directory, with what `make install` brings. A block ```sh is run, a
# block ```json file=NAME is written, a block ```text must be in what the last command printed.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
root=$(mktemp -d) || exit 1
through=
# a command of the page that fails ends this script
trap '[ -n "$through" ] || sed "s/^/# /" "$root/out"; rm -rf "$root"' EXIT
. t/integration/tap.sh
tap_said=$root/out

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s B="$B" CC="${CC:-gcc}" PREFIX="$root/mk" install >"$root/out" 2>&1
ok $? "multikueued is installed"
chmod 755 "$root"
mkdir -m 755 "$root/empty" "$root/blocks"

# blocks/NNN is the text of a block, blocks/NNN.what its first line
awk -v dir="$root/blocks" '
	/^```/ && !inside { inside = 1; n++; name = sprintf("%s/%03d", dir, n); print substr($0, 4) >(name ".what"); printf "" >name; next }
	/^```/ { inside = 0; next }
	inside { print >name }' docs/write-an-adapter.md

PREFIX=$root/mk
export PREFIX
unset MAKEFLAGS MFLAGS MAKELEVEL
cd "$root/empty" || exit 1
for what in "$root"/blocks/*.what; do
	block=${what%.what}
	read -r kind file <"$what"
	case $kind in
	sh)
		set -e
		# In this shell: the page's commands build on each other.
		# shellcheck disable=SC1090
		. "$block" >"$root/out" 2>&1
		rc=$?
		set +e
		ok $rc "$(head -n 1 "$block")"
		;;
	text)
		awk 'NR == FNR { want = want $0 "\n"; next } { got = got $0 "\n" } END { exit index(got, substr(want, 1, length(want) - 1)) == 0 }' \
			"$block" "$root/out"
		ok $? "... prints: $(head -n 1 "$block")"
		;;
	*)
		file=${file#file=}
		mkdir -p "$(dirname "$file")" && cp "$block" "$file"
		ok $? "a file is written: $file"
		;;
	esac
done
through=1
[ $tap_n -ge 15 ]
ok $? "the page has its steps"
done_testing
