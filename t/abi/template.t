#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin template builds with its own Makefile from the headers alone, as C11 and as C++17, with
# each compiler, and the checker finds nothing wrong with it.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
check=$(pwd)/$B/mk-plugin-check
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/include"
cp -r sdk/multikueue "$tmp/include"
n=0 failed=0
for how in 'gcc c11 c' 'g++ c++17 c++' 'clang c11 c' 'clang++ c++17 c++'; do
	n=$((n + 1))
	set -- $how
	if ! command -v "$1" >/dev/null; then
		echo "ok $n - $how # SKIP $1 is not installed"
		continue
	fi
	rm -rf "$tmp/plugin"
	cp -r sdk/template "$tmp/plugin"
	if env -u MAKEFLAGS -u MFLAGS make -s -C "$tmp/plugin" CC="$1" STD="$2" LANGUAGE="$3" SDK="$tmp/include" CHECK="$check" \
		CFLAGS='-O2 -Wall -Wextra -Wpedantic -Werror' check >"$tmp/out" 2>&1 &&
		[ "$(grep -c '^ok ' "$tmp/out")" -eq 10 ]; then
		echo "ok $n - $how"
	else
		echo "not ok $n - $how"; failed=1
		sed 's/^/# /' "$tmp/out"
	fi
done
echo "1..$n"
exit $failed
