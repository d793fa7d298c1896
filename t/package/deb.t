#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make deb: a package that depends on what its programs are linked to, has the configuration, the
# unit and the man pages where a host looks for them, runs from any folder, and is the same the
# second time.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
. t/integration/tap.sh
. t/package/lib.sh
need dpkg-deb
shipped "a package"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_said=$tmp/out
deb=build/multikueued_$(cat VERSION)_$(dpkg --print-architecture).deb
pack() { # WHERE: a second run elsewhere does not write the same file
	$make deb >"$tmp/out" 2>&1 && mv "$deb" "$1"
}

pack "$tmp/first.deb"
ok $? "make deb"
(umask 077 && TZ=Pacific/Chatham pack "$tmp/second.deb") && cmp "$tmp/first.deb" "$tmp/second.deb" >"$tmp/out" 2>&1
ok $? "byte for byte the same later, with another umask and time zone"
deb=$tmp/first.deb
field() {
	dpkg-deb --field "$deb" "$1"
}
is "$(field Package) $(field Version) $(field Architecture)" "multikueued $(cat VERSION) $(dpkg --print-architecture)" "its name"
for f in Maintainer Installed-Size Depends Description; do
	[ -n "$(field $f)" ] || echo "no $f"
done >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "it says what a package has to say"
dpkg-deb --contents "$deb" >"$tmp/contents" && awk '
	$2 != "root/root" || $1 !~ /^[-dl]rw.r-.r-.$/ || $1 ~ /[sStT]/ { print }
	$6 !~ /^\.\/((usr|etc)(\/.*)?)?$/ { print }' "$tmp/contents" >"$tmp/out"
[ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/contents")" -gt 50 ]
ok $? "all of it is root's, for others to read, below /usr and /etc"

mkdir "$tmp/control" "$tmp/host"
dpkg-deb --control "$deb" "$tmp/control" && dpkg-deb --extract "$deb" "$tmp/host"
ok $? "it comes apart"
is "$(cat "$tmp/control/conffiles")" /etc/multikueued/multikueued.yaml "a change of the configuration is kept"
(cd "$tmp/host" && md5sum --quiet -c "$tmp/control/md5sums") >"$tmp/out" 2>&1
ok $? "its sums hold"
for s in postinst prerm postrm; do
	[ -x "$tmp/control/$s" ] && sh -n "$tmp/control/$s" || echo "$s"
done >"$tmp/out" 2>&1
[ ! -s "$tmp/out" ]
ok $? "its scripts can be read"
for f in man8/multikueued.8.gz man5/multikueued.yaml.5.gz man1/kubectl-multikueue.1.gz; do
	gzip -t "$tmp/host/usr/share/man/$f" || echo "$f"
done >"$tmp/out" 2>&1
grep -q 'License: Apache-2.0' "$tmp/host/usr/share/doc/multikueued/copyright" || echo "no licence" >>"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "man pages and licence"
unit=$tmp/host/usr/lib/systemd/system/multikueued.service
[ -x "$tmp/host$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$unit")" ] && grep -qF " --config $(cat "$tmp/control/conffiles") " "$unit"
ok $? "the unit starts the daemon of the package, with its configuration"

"$tmp/host/usr/bin/multikueued" --version >"$tmp/out" 2>&1 && grep -qx "multikueued $(cat VERSION)" "$tmp/out"
ok $? "the daemon runs from a folder"
chmod 755 "$tmp" "$tmp/host"
"$tmp/host/usr/bin/multikueued" --check-config "$tmp/host/etc/multikueued/multikueued.yaml" >"$tmp/out" 2>&1 &&
	grep -qE ': valid; [1-9][0-9]* adapters, [1-9][0-9]* dispatchers$' "$tmp/out"
ok $? "and accepts the configuration, with the plugins beside it"
"$tmp/host/usr/bin/multikueued" --list-plugins 2>&1 | grep -o '/[^ ]*\.so$' | grep -v "^$tmp/host/usr/lib/multikueue/plugins/" >"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "of no other folder"

# What the programs ask for is in packages of the list; other places are searched by none.
find "$tmp/host/usr/bin" "$tmp/host/usr/lib" -type f -exec readelf -dW {} + 2>/dev/null >"$tmp/dynamic"
sed -n 's/.*(\(RUNPATH\|RPATH\)).*\[\(.*\)\]/\2/p' "$tmp/dynamic" | grep -vFx '$ORIGIN/../lib/multikueue' >"$tmp/out"
grep -rlF "$(pwd)" "$tmp/host/usr/bin" "$tmp/host/usr/lib" "$tmp/host/etc" >>"$tmp/out"
[ ! -s "$tmp/out" ]
ok $? "no trace of the folder of the build"
field Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' >"$tmp/packages"
sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$tmp/dynamic" | sort -u | while read -r so; do
	[ -e "$tmp/host/usr/lib/multikueue/$so" ] && continue
	# shellcheck disable=SC2046
	dpkg-query -L $(cat "$tmp/packages") 2>>"$tmp/said" | grep -q "/$so\$" || echo "$so is in none of: $(tr '\n' ' ' <"$tmp/packages")"
done >"$tmp/out"
[ ! -s "$tmp/out" ] && grep -q NEEDED "$tmp/dynamic"
ok $? "each library is in a package that it depends on"
done_testing
