#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make dist: an archive of the last commit that is the same each time, and has all that a build
# asks for.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
. t/integration/tap.sh
need git
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_said=$tmp/out
name=multikueued-$(cat VERSION)
make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s"

$make dist >"$tmp/out" 2>&1 && mv "build/$name.tar.gz" "$tmp/first.tar.gz"
ok $? "make dist"
(umask 077 && TZ=Pacific/Chatham $make dist >"$tmp/out" 2>&1) && cmp "build/$name.tar.gz" "$tmp/first.tar.gz" >"$tmp/out" 2>&1
ok $? "byte for byte the same, with another umask and time zone"
git ls-tree -r --name-only HEAD | sed "s|^|$name/|" | sort >"$tmp/want"
tar -tzf "$tmp/first.tar.gz" | grep -v '/$' | sort >"$tmp/found"
diff "$tmp/want" "$tmp/found" >"$tmp/out"
ok $? "the files of the commit, in one folder"
tar -xzf "$tmp/first.tar.gz" -C "$tmp"
at=$tmp/$name
is "$(stat -c %Y "$at/VERSION")" "$(git log -1 --format=%ct)" "of its date, which packages made of it have, too"

# Packages that conf/install-deps unpacks are no sources.
mkdir "$at/build"
[ ! -d build/deps ] || ln -s "$(realpath build/deps)" "$at/build/deps"
$make -C "$at" -n CC="${CC:-gcc}" all >"$tmp/plan" 2>"$tmp/out" && [ ! -s "$tmp/out" ]
ok $? "make knows how to make everything"
is "$(grep -o -- '-c -o [^ ]* [^ ]*\.c$' "$tmp/plan" | sed 's/.* //' | sort -u | while read -r f; do
	[ -f "$at/$f" ] || echo "$f"
done)" "" "each source is there"
# What compilers read in this build; names of libraries are absolute.
find "$B" -name '*.d' -exec cat {} + | tr ' \\' '\n\n' | grep -E '^(core|sdk|t|adapters|plugins)/[^:]*$' | sort -u >"$tmp/read"
while read -r f; do
	git cat-file -e "HEAD:$f" 2>>"$tmp/said" && [ ! -f "$at/$f" ] && echo "$f"
done <"$tmp/read" >"$tmp/out"
[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/read")" -gt 300 ]
ok $? "and each header that it includes ($(wc -l <"$tmp/read") files)"
done_testing
