#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sizes, offsets and constants of the ABI are those of sdk/abi.lock, with each compiler, as C and as C++; and every
# public header compiles alone. To change the lock on purpose: t/abi/lock.t --write, and say why in abi.h.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0
check() { # name, then 0 = good
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; failed=1; fi
}
comment() { sed 's/^/# /' "$1"; }

if [ "$1" = --write ]; then
	${CC:-gcc} -std=c17 -Isdk -o "$tmp/lock" t/abi/gen/lock.c && "$tmp/lock" > sdk/abi.lock
	exit
fi

strict='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wundef -Werror'
for cc in gcc clang; do
	if ! command -v $cc >/dev/null; then
		n=$((n + 1)); echo "ok $n - $cc # SKIP $cc is not installed"
		continue
	fi
	$cc -std=c17 -Isdk -o "$tmp/lock" t/abi/gen/lock.c 2>"$tmp/err" && "$tmp/lock" >"$tmp/got" 2>>"$tmp/err"
	diff -u sdk/abi.lock "$tmp/got" >"$tmp/diff" 2>&1
	code=$?
	check "$cc: the layout is that of sdk/abi.lock" $code
	[ $code -eq 0 ] || { comment "$tmp/diff"; comment "$tmp/err"; }
	for h in sdk/multikueue/*.h; do
		for std in c11 c17 c++17; do
			case $std in c++*) lang=c++ ;; *) lang=c ;; esac
			echo "#include <${h#sdk/}>" |
				$cc -x $lang -std=$std $strict -Isdk -fsyntax-only - 2>"$tmp/err"
			code=$?
			check "$cc: ${h#sdk/multikueue/} alone as $std" $code
			[ $code -eq 0 ] || comment "$tmp/err"
		done
	done
done
echo "1..$n"
exit $failed
