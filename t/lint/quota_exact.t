#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No decision about quota uses floating point: neither the words in the sources nor the instructions in what is built.
cd "$(dirname "$0")/../.." || exit 1
echo 1..2
rc=0

found=$(grep -nE '\<(float|double|strtod|strtof|atof|sqrt|pow|fabs)\>' core/quota/*.[ch] core/cli/*.[ch])
if [ -z "$found" ]; then
	echo "ok 1 - no word of floating point in core/quota and core/cli"
else
	echo "not ok 1 - no word of floating point in core/quota and core/cli"
	echo "$found" | sed 's/^/# /'
	rc=1
fi

lib=${B:-build/dev}/libquota.a
if ! command -v objdump >/dev/null || [ ! -e "$lib" ] || [ "$(uname -m)" != x86_64 ]; then
	echo "ok 2 # skip needs objdump, $lib and x86_64"
	exit $rc
fi
found=$(objdump -d "$lib" | grep -E '	(cvtsi2s[sd]|cvtt?s[sd]2si|(mul|add|sub|div|sqrt)[sp][sd]|u?comis[sd]|f(ild|ist|mul|add|sub|div)[a-z]*) ' | head -5)
if [ -z "$found" ]; then
	echo "ok 2 - no instruction of floating point in $lib"
else
	echo "not ok 2 - no instruction of floating point in $lib"
	echo "$found" | sed 's/^/# /'
	rc=1
fi
exit $rc
