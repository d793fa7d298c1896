#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No decision about quota uses floating point: neither the words in the sources nor the instructions in what is built.
cd "$(dirname "$0")/../.." || exit 1
. t/integration/tap.sh

none() { # FOUND NAME
	[ -z "$1" ]
	ok $? "$2" || echo "$1" | sed 's/^/#   /'
}

none "$(grep -nE '\<(float|double|strtod|strtof|atof|sqrt|pow|fabs)\>' core/quota/*.[ch] core/cli/*.[ch])" \
	"no word of floating point in core/quota and core/cli"

lib=${B:-build/dev}/libquota.a
name="no instruction of floating point in core/quota"
if [ "$(uname -m)" != x86_64 ]; then
	skip "$name" "the list of instructions is that of x86_64"
else
	code=$(objdump -d "$lib") && [ -n "$code" ]
	ok $? "$lib is there to be read"
	none "$(echo "$code" | grep -E '	(cvtsi2s[sd]|cvtt?s[sd]2si|(mul|add|sub|div|sqrt)[sp][sd]|u?comis[sd]|f(ild|ist|mul|add|sub|div)[a-z]*) ' | head -5)" "$name"
fi
done_testing
