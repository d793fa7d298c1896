#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sizes, offsets and constants of the ABI are those of sdk/abi.lock, with each compiler; no
# line of a released minor's lock is gone or changed; and every public header compiles alone,
# as C and as C++. To append on purpose: say so in abi.h, then t/abi/lock.t --write; to release
# a minor: t/abi/lock.t --freeze.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0
check() { # name, then 0 = good
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; failed=1; fi
}
comment() { sed 's/^/# /' "$1"; }
constant() { # NAME: of today's headers
	awk -v name="$1" '$1 == "#define" && $2 == name { print $3 }' sdk/multikueue/abi.h
}

if [ "$1" = --write ]; then
	${CC:-gcc} -std=c17 -Isdk -o "$tmp/lock" t/abi/gen/lock.c && "$tmp/lock" > sdk/abi.lock
	exit
fi
if [ "$1" = --freeze ]; then
	to=t/abi/$(constant MK_ABI_MAJOR).$(constant MK_ABI_MINOR)
	[ ! -e "$to/abi.lock" ] || { echo "$to is frozen already" >&2; exit 1; }
	mkdir -p "$to/multikueue" && cp sdk/abi.lock "$to" || exit 1
	for h in sdk/multikueue/*.h; do
		# without comments, which are all of the kind that ends, and
		# without the lines they leave empty
		awk 'BEGIN { print "/* SPDX-License-Identifier: Apache-2.0 */\n/* Frozen: made by t/abi/lock.t --freeze. */" } {
			line = ""
			while (length($0) > 0) {
				at = index($0, inside ? "*/" : "/*")
				if (!inside) line = line substr($0, 1, at ? at - 1 : length($0))
				$0 = at ? substr($0, at + 2) : ""
				if (at) inside = !inside
			}
			sub(/[ \t]+$/, "", line)
			if (line != "") print line
		}' "$h" >"$to/multikueue/$(basename "$h")"
	done
	exit
fi

# What is wrong with the lock NOW for a plugin that was built with the lock THEN.
compare() { # THEN NOW
	awk '
		/^#/ { next }
		{ key = $1 " " $2; value = $0; split($2, part, "."); type = part[1] }
		NR == FNR {
			then[key] = value
			if ($1 == "offset" && part[2] == "struct_size") grows[type] = 1
			if ($1 == "size") size[type] = $3
			next
		}
		{ now[key] = value }
		key == "constant MK_ABI_MINOR" || ($1 == "size" && grows[type]) {
			split(then[key], old, " ")
			if ((key in then) && $3 + 0 < old[3] + 0) print "smaller: " value
			next
		}
		(key in then) && value != then[key] { print "changed: " value }
		!(key in then) && $1 == "offset" && (type in size) && $3 < size[type] { print "not at the end: " value }
		END { for (key in then) if (!(key in now)) print "gone: " then[key] }' "$1" "$2" | sort
}

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

today=$(constant MK_ABI_MAJOR).$(constant MK_ABI_MINOR)
[ -f "t/abi/$today/abi.lock" ]
check "today's minor, $today, is frozen" $?
for dir in t/abi/[0-9]*.[0-9]*; do
	compare "$dir/abi.lock" sdk/abi.lock >"$tmp/diff"
	[ ! -s "$tmp/diff" ]
	check "nothing of ${dir##*/} is gone or changed" $?
	comment "$tmp/diff"
	awk 'BEGIN { print "#include <multikueue/adapter.h>\n#include <multikueue/dispatcher.h>" }
		function same(what, number) { printf "_Static_assert((long long)(%s) == %s, \"%s\");\n", what, number, what }
		$1 == "size" { same("sizeof(" $2 ")", $3) }
		$1 == "constant" { same($2, $3) }
		$1 == "offset" { split($2, p, "."); same("offsetof(" p[1] ", " p[2] ")", $3); same("sizeof(((" p[1] " *)0)->" p[2] ")", $4) }
		' "$dir/abi.lock" >"$tmp/lock.c"
	grep -c _Static_assert "$tmp/lock.c" >"$tmp/count"
	${CC:-gcc} -std=c17 "-I$dir" -fsyntax-only "$tmp/lock.c" 2>"$tmp/err" && [ "$(cat "$tmp/count")" -gt 100 ]
	check "its headers have the layout of its lock" $?
	comment "$tmp/err"
done

# The comparison finds what it is there to find.
finds() { # NAME WHAT SED-EXPRESSION: in today's lock
	sed "$3" sdk/abi.lock >"$tmp/changed"
	compare "t/abi/$today/abi.lock" "$tmp/changed" >"$tmp/diff"
	[ "$(cat "$tmp/diff")" = "$2" ]
	check "$1" $?
	[ "$(cat "$tmp/diff")" = "$2" ] || comment "$tmp/diff"
}
finds 'appended: a field, a constant, a greater minor' '' 's/^size mk_adapter .*/size mk_adapter 144/
	/^offset mk_adapter.scale /a offset mk_adapter.more 136 8
	s/^constant MK_ABI_MINOR .*/constant MK_ABI_MINOR 9/
	$a constant MK_MORE 1'
finds 'found: a field is gone' 'gone: offset mk_view.now 32 16' '/^offset mk_view.now /d'
finds 'found: a field moved' 'changed: offset mk_host.set 88 8' 's/^offset mk_host.set .*/offset mk_host.set 88 8/'
finds 'found: a field in the middle' 'not at the end: offset mk_pick.more 12 4' '/^offset mk_pick.reserved /a offset mk_pick.more 12 4'
finds 'found: a constant changed' 'changed: constant MK_DEFER 8' 's/^constant MK_DEFER .*/constant MK_DEFER 8/'
finds 'found: a struct without struct_size grew' 'changed: size mk_end 32' 's/^size mk_end .*/size mk_end 32/'
finds 'found: a struct shrank' 'smaller: size mk_entry 32' 's/^size mk_entry .*/size mk_entry 32/'
finds 'found: a factory has another name' 'gone: factory mk.adapter/1' 's,^factory mk.adapter/1,factory mk.adapter/2,'
echo "1..$n"
exit $failed
