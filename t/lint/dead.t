#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No dead symbols: every external symbol of core/ is used by another object of a program of
# `make all`. A symbol that
# only its own file uses should be static; one that only tests use goes to t/, unless the
# comment of its declaration
# begins with "For tests".
#
# Reads the objects of the build at $B (build/dev) as they are: build first.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh
: "${B:=build/dev}"

# Objects by source: a build folder may still have objects of files that are gone.
git ls-files --cached --others --exclude-standard -- core adapters plugins sdk/check t/sim t/kubesim t/demo |
	grep '\.c$' | while read -r source; do
	[ ! -f "$source" ] || echo "$B/${source%.c}.o"
done | sort >"$tmp/objects"
while read -r object; do
	[ -s "$object" ] || echo "$object"
done <"$tmp/objects" >"$tmp/missing"
if [ -s "$tmp/missing" ] || ! command -v nm >/dev/null; then
	skip "no dead external symbol" "nm and the objects of \`make all\` in $B"
	done_testing
	exit
fi

# What the headers allow to tests: the names in declarations below such a comment, up to an
# empty line.
git ls-files --cached --others --exclude-standard -- 'core/*.h' | xargs awk '
	/^$/ { allowed = 0 }
	/^\/\*/ { inside = 1; first = /^\/\*$/ ? FNR + 1 : FNR }
	inside { if (FNR == first) allowed = /^(\/| )\* For tests/; if (/\*\/$/) inside = 0; next }
	allowed { n = split($0, words, /[^A-Za-z0-9_]+/); for (i = 1; i <= n; i++) print words[i] }
	' | sort -u >"$tmp/for_tests"

# Lines of nm: "OBJECT: NAME TYPE [VALUE SIZE]". Capital letters are external, U and w
# refer. A name with two
# underscores belongs to the compiler.
xargs nm -P -A <"$tmp/objects" 2>"$tmp/nm" | sed 's/: / /' | awk -v core="$B/core/" -v for_tests="$tmp/for_tests" '
	BEGIN { while ((getline name <for_tests) > 0) allowed[name] = 1 }
	$3 == "U" || $3 == "w" { refers[$2] = 1; next }
	$3 ~ /^[A-Z]$/ && index($1, core) == 1 && $2 != "main" && $2 !~ /^__/ { home[$2] = $1 }
	END {
		for (name in home) {
			n++
			if (!(name in refers) && !(name in allowed)) {
				source = substr(home[name], length(core) - 4)
				sub(/\.o$/, ".c", source)
				print source ": " name " is used by no other file of a program"
			}
		}
		if (n < 500) print "only " n " symbols in core/: was nm read right?"
	}' | sort >"$tmp/findings"
check "no dead external symbol"
# Which of two the linker takes depends on the order of the archives, and it does not tell.
xargs nm -P -A <"$tmp/objects" 2>"$tmp/nm" | sed 's/: / /' | awk -v core="$B/core/" '
	$3 ~ /^[A-Z]$/ && $3 != "U" && index($1, core) == 1 && $2 != "main" && $2 !~ /^__/ {
		if ($2 in home) print $2 ": in " home[$2] " and " $1
		home[$2] = $1
	}' | sort >"$tmp/findings"
check "no external symbol is defined twice"
done_testing
