#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# t/lib/go.sh: a program that was built for a key is not built again in another folder, two builds
# at once leave a whole one, and what fails leaves nothing.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
# shellcheck source=t/lib/wait.sh
. t/lib/wait.sh
# shellcheck source=t/lib/go.sh
. t/lib/go.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export XDG_CACHE_HOME="$tmp/cache"
made() { # FOLDER: what stands for a build
	echo called >>"$tmp/calls"
	echo "$word" >"$1/program"
	chmod 755 "$1/program"
}
fails() {
	echo half >"$1/program"
	return 1
}
word=first
go_keep key "$tmp/one" made
is "$? $(cat "$tmp/one/program")" "0 first" "a program is built"
word=second
go_keep key "$tmp/two" made
is "$(cat "$tmp/two/program") $(grep -c . "$tmp/calls")" "first 1" "the same key in another folder: taken, not built"
go_keep other "$tmp/two" made
is "$(cat "$tmp/two/program") $(grep -c . "$tmp/calls")" "second 2" "another key is built, and put in its place"
is "$(cat "$tmp/one/program")" first "which the folder of the first does not notice"
go_keep broken "$tmp/three" fails
is "$? $(find "$tmp/three" "$XDG_CACHE_HOME" -name '*broken*' -o -name 'go-new-*' -o -path '*three/*' | wc -l)" "1 0" \
	"a build that fails fails, and nothing of it is kept"
word=third
meets() { # as made, but both are under way before either ends
	made "$1"
	: >"$tmp/in-${1##*-}"
	wait_for 30 two_are_in
}
two_are_in() {
	[ "$(find "$tmp" -name 'in-*' | wc -l)" -ge 2 ]
}
go_keep both "$tmp/four" meets &
go_keep both "$tmp/five" meets
first=$?
wait $!
is "$first $? $(cat "$tmp/four/program" "$tmp/five/program" | paste -sd' ') $(grep -c . "$tmp/calls")" "0 0 third third 4" \
	"two builds of one key at once: both have it"
is "$(find "$XDG_CACHE_HOME" -mindepth 2 -maxdepth 2 -name 'go-new-*' | wc -l)" 0 "no folder of a build is left"
touch -d '40 days ago' "$XDG_CACHE_HOME/multikueued/go-key"
go_keep other "$tmp/one" made
is "$(find "$XDG_CACHE_HOME" -name go-key | wc -l)" 0 "what nobody took for a month goes"
is "$(cat "$tmp/one/program")" second "one that was kept meanwhile is taken"
if command -v go >/dev/null 2>&1; then
	echo a >"$tmp/go.mod"
	one=$(go_key "$tmp/go.mod")
	[ "$one" = "$(go_key "$tmp/go.mod")" ] && [ "$one" != "$(GOFLAGS=-v go_key "$tmp/go.mod")" ] &&
		echo b >"$tmp/go.mod" && [ "$one" != "$(go_key "$tmp/go.mod")" ]
	ok $? "a key is that of the files and of Go's settings"
else
	skip "a key is that of the files and of Go's settings" "go is not installed"
fi
done_testing
