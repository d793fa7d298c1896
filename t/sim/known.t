#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The list of known failures (t/sim/known-failures) only shrinks: each line still fails, a line that
# does not is named and has to go, and what is not listed fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
. t/integration/tap.sh
B=${B:-build/dev}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
log=$dir/log

# sim WORLD OPTIONS...: runs seeds of that world.
sim() {
	world=$1
	shift
	case $world in
	narrow) "$B/sim" --jobs 2 "$@" ;;
	wide) "$B/sim" --jobs 2 --wide "$@" ;;
	*) "$B/sim" --jobs 2 --world "$world" "$@" ;;
	esac >"$log" 2>&1
}

grep -v -e '^#' -e '^$' t/sim/known-failures >"$dir/lines"
while read -r world first count invariant text; do
	sim "$world" --first "$first" --seeds "$count"
	is $? 0 "world $world: $invariant is still a known failure: $text"
	grep -e '^FAIL ' -e '^# known' "$log" | sed 's/^/# /'
done <"$dir/lines"

echo "narrow 1 10 I3 made up" >"$dir/list"
sim narrow --first 1 --seeds 10 --known "$dir/list"
is $? 1 "a known failure that no longer fails fails the run"
grep -q '^FAIL no seed of 10 of world narrow fails I3 .* remove line 1 ' "$log"
ok $? "... which says which line to remove"
echo "narrow 1 ten I3 made up" >"$dir/list"
sim narrow --seeds 1 --known "$dir/list"
is $? 2 "a line that is no line is refused"
done_testing
