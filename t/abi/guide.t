#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guides for authors of plugins to the letter, each in an empty directory, with what `make
# install` brings. A block ```sh is run, one with file=NAME is written, and one ```text must be in
# what the last command printed.
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
here=$PWD
PREFIX=$root/mk
export PREFIX
unset MAKEFLAGS MFLAGS MAKELEVEL

one() { # BLOCK KIND FILE
	case $2 in
	sh)
		set -e
		# In this shell: the page's commands build on each other.
		# shellcheck disable=SC1090
		. "$1" >"$root/out" 2>&1
		rc=$?
		set +e
		ok $rc "$(head -n 1 "$1")"
		;;
	text)
		awk 'NR == FNR { want = want $0 "\n"; next } { got = got $0 "\n" } END { exit index(got, substr(want, 1, length(want) - 1)) == 0 }' \
			"$1" "$root/out"
		ok $? "... prints: $(head -n 1 "$1")"
		;;
	*)
		file=${3#file=}
		mkdir -p "$(dirname "$file")" && cp "$1" "$file"
		ok $? "a file is written: $file"
		;;
	esac
}

for page in write-an-adapter write-a-dispatcher; do
	blocks=$root/$page.blocks
	mkdir -m 755 "$root/$page" "$blocks"
	cd "$root/$page" || exit 1
	# NNN is the text of a block, NNN.what its first line
	awk -v dir="$blocks" '
		/^```/ && !inside { inside = 1; n++; name = sprintf("%s/%03d", dir, n); print substr($0, 4) >(name ".what"); printf "" >name; next }
		/^```/ { inside = 0; next }
		inside { print >name }' "$here/docs/$page.md"
	echo "# docs/$page.md"
	before=$tap_n
	for what in "$blocks"/*.what; do
		read -r kind file <"$what"
		one "${what%.what}" "$kind" "$file"
	done
	[ $((tap_n - before)) -ge 12 ]
	ok $? "docs/$page.md has its steps"
done
through=1
done_testing
