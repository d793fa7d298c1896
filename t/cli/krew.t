#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make krew: an archive of the kubectl plugin that runs where it is unpacked, whatever the linker
# finds elsewhere, and a manifest that fits it; the same bytes each time.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh
tap_said=$tmp/said
flavour=${B##*/}
case $flavour in
dev | release | dev-clang | release-clang) ;;
*)
	skip "an archive" "the flavour of $B is for tests alone"
	done_testing
	;;
esac
version=$(cat VERSION)
krew() { # FOLDER [VARIABLES...]
	krew_at=$tmp/$1
	shift
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s FLAVOUR="${flavour%-clang}" CC="${CC:-gcc}" krew \
		KREW="$krew_at" KREW_BIN="$krew_at/bin/kubectl-multikueue" "$@" >"$tap_said" 2>&1
}

krew a KREW_URL=https://example.com/mk/ && krew b KREW_URL=https://example.com/mk
ok $? "two archives"
archive=$(ls "$tmp/a" | grep '^kubectl-multikueue-linux-[a-z0-9]*-'"$version"'\.tar\.gz$')
ls "$tmp/a" >"$tap_said"
[ -n "$archive" ]
ok $? "the name has architecture and version"
cmp "$tmp/a/$archive" "$tmp/b/$archive" >"$tap_said" 2>&1 && cmp "$tmp/a/multikueue.yaml" "$tmp/b/multikueue.yaml" >>"$tap_said" 2>&1
ok $? "linked and packed again, archive and manifest have the same bytes"
value() { # KEY: in the manifest
	sed -n "s/^ *-* *$1: //p" "$tmp/a/multikueue.yaml"
}
is "$(value sha256)" "$(sha256sum <"$tmp/a/$archive" | cut -d' ' -f1)" "the manifest has the archive's sum"
is "$(value uri)" "https://example.com/mk/$archive" "... its address"
is "$(value version) $(value os) linux-$(value arch)" \
	"v$version linux $(echo "$archive" | sed 's/kubectl-multikueue-\(linux-[^-]*\)-.*/\1/')" "... version and platform"
grep '@[A-Z]*@' "$tmp/a/multikueue.yaml" >"$tap_said"
[ $? -eq 1 ]
ok $? "... and no place that is not filled"
tar -tzf "$tmp/a/$archive" >"$tmp/names"
LC_ALL=C sort -c "$tmp/names" 2>"$tap_said"
ok $? "names in the archive are sorted"
is "$(tar --numeric-owner -tvzf "$tmp/a/$archive" | awk '{ print $2 }' | sort -u)" 0/0 "files belong to user 0"
is "$(grep -c '^\(LICENSE\|LICENSE.yyjson\|kubectl-multikueue\|kubectl_complete-multikueue\)$' "$tmp/names")" 4 \
	"program, completion and licences are in it"
krew c SOURCE_DATE_EPOCH=86400 && tar --utc -tvzf "$tmp/c/$archive" | awk '$4 != "1970-01-02" { exit 1 }'
ok $? "SOURCE_DATE_EPOCH is the time of its files"
grep -q 'KREW_URL is not set' "$tap_said"
ok $? "without KREW_URL: it is told"

# As an installation would.
mkdir -p "$tmp/store/v1" "$tmp/bin" && tar -xzf "$tmp/a/$archive" -C "$tmp/store/v1" && rm -rf "$tmp/a/bin" "$tmp/b/bin" "$tmp/c/bin"
ln -s "$tmp/store/v1/kubectl-multikueue" "$tmp/bin/kubectl-multikueue"
is "$(env -i LD_LIBRARY_PATH= "$tmp/store/v1/kubectl-multikueue" --version 2>&1)" "kubectl-multikueue $version" "it starts where it is unpacked"
is "$(cd / && env -i "$tmp/bin/kubectl-multikueue" --version 2>&1)" "kubectl-multikueue $version" "... and by a link from elsewhere"
is "$(env -i PATH="$tmp/store/v1:/usr/bin:/bin" kubectl_complete-multikueue statu 2>&1 | cut -f1 | paste -sd ' ')" "status :4" "it completes"
ldd "$tmp/store/v1/kubectl-multikueue" >"$tap_said" 2>&1
awk -v at="$tmp/store/v1/" '/yyjson/ && index($3, at) != 1 { exit 1 }' "$tap_said"
ok $? "its libyyjson, if it is not linked in, is that beside it"
readelf -d "$tmp/store/v1/kubectl-multikueue" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN\]' >"$tap_said"
[ $? -eq 1 ]
ok $? "no other folder is searched"
grep -aF "$PWD" "$tmp/store/v1/kubectl-multikueue" >"$tap_said"
[ $? -eq 1 ]
ok $? "no path of the build is in it"

for url in http://example.com 'https://example.com/a|b' 'https://example.com/?x' https://; do
	krew d KREW_URL="$url"
	[ $? -ne 0 ] && grep -qF "KREW_URL=$url: expected " "$tap_said" && [ ! -f "$tmp/d/multikueue.yaml" ]
	ok $? "refused: $url"
done
done_testing
