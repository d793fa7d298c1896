#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make sbom: SPDX 2.3 whose packages are those that ldd and dpkg name for the programs, whose files
# are the programs, and whose licences are what the packages' copyright files speak of.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
. t/integration/tap.sh
. t/package/lib.sh
need jq dpkg-query
shipped "an SBOM"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
tap_said=$tmp/out
sbom=$tmp/first.json
made=build/multikueued-$(cat VERSION).spdx.json

$make sbom >"$tmp/out" 2>&1 && mv "$made" "$sbom"
ok $? "make sbom"
(umask 077 && TZ=Pacific/Chatham $make sbom >"$tmp/out" 2>&1) && cmp "$made" "$sbom" >"$tmp/out" 2>&1
ok $? "byte for byte the same, with another umask and time zone"
is "$(jq -r '[.spdxVersion, .dataLicense, .SPDXID, .name] | join(" ")' "$sbom")" \
	"SPDX-2.3 CC0-1.0 SPDXRef-DOCUMENT multikueued-$(cat VERSION)" "it says what it is"
is "$(date -u -d "$(jq -r .creationInfo.created "$sbom")" +%s)" "$(git log -1 --format=%ct)" "with the date of the commit"
jq -r '
	([.. | .SPDXID? // empty]) as $ids |
	($ids | group_by(.)[] | select(length > 1) | "twice: \(.[0])"),
	($ids[] | select(test("^SPDXRef-[A-Za-z0-9.-]+$") | not) | "no id: \(.)"),
	(.relationships[] | .spdxElementId, .relatedSpdxElement | select(IN($ids[]) | not) | "leads nowhere: \(.)"),
	(.packages[] | select((.name and .versionInfo and .downloadLocation and .licenseDeclared and .copyrightText) | not) | "incomplete: \(.)"),
	(($ids - ["SPDXRef-DOCUMENT"]) - [.relationships[].relatedSpdxElement] | .[] | "in no relation: \(.)")' "$sbom" >"$tmp/out" 2>&1
[ ! -s "$tmp/out" ]
ok $? "ids are unique and of SPDX's letters, all is related to what is there"

programs="$B/multikueued $B/kubectl-multikueue $B/mk-plugin-check $(echo "$B"/plugins/*.so)"
# shellcheck disable=SC2086
is "$(jq -r '.files[] | [.checksums[] | select(.algorithm == "SHA256").checksumValue] + [.fileName | sub(".*/"; "")] | join(" ")' "$sbom" | sort)" \
	"$(sha256sum $programs | sed 's|  .*/| |' | sort)" "its files are the programs and plugins, with their sums"
is "$(jq -r '.packages[0].packageVerificationCode.packageVerificationCodeValue' "$sbom")" \
	"$(jq -r '.files[].checksums[] | select(.algorithm == "SHA1").checksumValue' "$sbom" | sort | tr -d '\n' | sha1sum | cut -d' ' -f1)" \
	"and their verification code"

# What the dynamic linker itself says it would load.
for program in $programs; do
	ldd "$program"
done | sed -n 's/^.*=> \(\/[^ ]*\) .*/\1/p; s/^[^a-z]*\(\/lib[^ ]*\) (.*/\1/p' | sort -u >"$tmp/libraries"
while read -r library; do
	case $library in
	"$PWD"/build/*/libyyjson.so.0) echo libyyjson0 "$(gzip -dc build/deps/usr/share/doc/libyyjson0/changelog.Debian.gz | sed -n '1s/.*(\(.*\)).*/\1/p')" ;;
	*)
		name=$(dpkg-query -S "*/$(basename "$(realpath "$library")")" | grep -v -e '-cross:' -e '-dev' | sed -n '1s/:.*//p')
		echo "$name" "$(dpkg-query -W -f '${Version}\n' "$name" | head -n 1)"
		;;
	esac
done <"$tmp/libraries" | sort -u >"$tmp/want"
jq -r '. as $all | .relationships[] | select(.relationshipType == "DYNAMIC_LINK").relatedSpdxElement as $id |
	$all.packages[] | select(.SPDXID == $id) | "\(.name) \(.versionInfo)"' "$sbom" | sort >"$tmp/found"
diff "$tmp/want" "$tmp/found" >"$tmp/out" && [ "$(wc -l <"$tmp/found")" -ge 9 ]
ok $? "the packages that ldd and dpkg name, in their versions ($(wc -l <"$tmp/found"))"
is "$(jq -r '[.relationships[] | select(.relationshipType == "STATIC_LINK").relatedSpdxElement] | join(" ")' "$sbom" |
	sed 's/-[0-9]*-dev$//')" SPDXRef-Package-libgcc "and what the compiler links in"

jq -r '.packages[1:][] | [.name, .licenseDeclared, (.licenseComments | sub(".* "; "") | rtrimstr("."))] | @tsv' "$sbom" |
	while IFS='	' read -r name licence sum; do
		file=/usr/share/doc/$name/copyright
		[ "$name" = libyyjson0 ] && [ -d build/deps/usr/share/doc/libyyjson0 ] && file=build/deps$file
		[ "$(sha256sum <"$file" | cut -d' ' -f1)" = "$sum" ] || echo "$name: $file is another"
		for part in $(echo "$licence" | sed 's/ \(OR\|AND\|WITH\) / /g'); do
			case $part in
			LGPL-*) words='LGPL|Lesser General Public|Library General Public' ;;
			GPL-*) words='GPL|GNU General Public' ;;
			BSD-*) words='BSD|Redistribution and use' ;;
			MIT) words='MIT|M\.I\.T\.|Expat|Massachusetts Institute|Permission is hereby granted' ;;
			OLDAP-*) words='OpenLDAP Public License' ;;
			GCC-exception-*) words='exception|GCC' ;;
			*) words=${part%%-[0-9]*} ;;
			esac
			grep -qiE "$words" "$file" || echo "$name: $file does not speak of $part"
		done
	done >"$tmp/out" 2>&1
[ ! -s "$tmp/out" ]
ok $? "each licence is one that the package's copyright file speaks of"
SOURCE_DATE_EPOCH=0 conf/sbom/build "$tmp/other.json" 1 "${CC:-gcc}" "$(command -v perl)" >"$tmp/out" 2>&1
[ $? = 1 ] && grep -q 'conf/sbom/licences: no row for the source package libxcrypt' "$tmp/out"
ok $? "a package whose licence is not known is an error"
done_testing
