#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No decision about quota uses floating point: neither the words in the sources nor the
# instructions in what is built.
cd "$(dirname "$0")/../.." || exit 1
. t/integration/tap.sh

none() { # FOUND NAME
	[ -z "$1" ]
	ok $? "$2" || echo "$1" | sed 's/^/#   /'
}

none "$(grep -nE '\<(float|double|strtod|strtof|atof|sqrt|pow|fabs)\>' core/api/*.[ch] core/quota/*.[ch] core/cli/*.[ch] core/cli/tree/*.[ch])" \
	"no word of floating point in core/api, core/quota and core/cli"

if [ "$(uname -m)" != x86_64 ]; then
	skip "no instruction of floating point" "the list of instructions is that of x86_64"
else
	for lib in api quota; do
		code=$(objdump -d "${B:-build/dev}/lib$lib.a") && [ -n "$code" ]
		ok $? "lib$lib.a is there to be read"
		none "$(echo "$code" | grep -E '	(cvtsi2s[sd]|cvtt?s[sd]2si|(mul|add|sub|div|sqrt)[sp][sd]|u?comis[sd]|f(ild|ist|mul|add|sub|div)[a-z]*) ' | head -5)" \
			"no instruction of floating point in core/$lib"
	done
fi
done_testing
