#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make image twice, from the same sources in two folders of different names, each compiled from
# nothing and without a compiler's cache: the digests are equal. REPEAT=amd64 or arm64 makes it
# this test; it takes minutes and is no part of make test.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
need jq dpkg-deb apt-get git
arch=${REPEAT:-}
if [ -z "$arch" ]; then
	echo "1..0 # SKIP two builds from nothing take minutes: make test-repeat SKIP-CI-OK"
	exit 0
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT PIPE TERM
tap_said=$dir/out
made=build/multikueued-$(cat VERSION)-$arch.oci.tar
epoch=$(git log -1 --format=%ct)

# What is not installed but unpacked is taken along, and says where it is now.
clean() { # FOLDER
	mkdir -p "$1/build" &&
		git ls-files --cached --others --exclude-standard -z | tar --null -T - -c | tar -xC "$1" || return 1
	for unpacked in deps "$arch" image; do
		[ -d "build/$unpacked" ] || continue
		mkdir "$1/build/$unpacked"
		for part in usr root apt apt.conf debs; do
			[ ! -e "build/$unpacked/$part" ] || cp -a "build/$unpacked/$part" "$1/build/$unpacked/" || return 1
		done
	done
	find "$1/build" -type l -lname "$PWD/build/*" | while read -r link; do
		ln -sfn "$1/$(readlink "$link" | sed "s|^$PWD/||")" "$link"
	done
	find "$1/build" \( -name '*.pc' -o -name apt.conf \) -exec sed -i "s|$PWD/build|$1/build|" {} +
}
for where in one another-folder/two; do
	folder=$dir/$where
	started=$(date +%s)
	clean "$folder" >"$dir/out" 2>&1 && (
		cd "$folder" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u B -u FLAVOUR CCACHE_DISABLE=1 \
			make -s image ARCH="$arch" CC="${CC:-gcc}" SOURCE_DATE_EPOCH="$epoch"
	) >"$dir/out" 2>&1 && mv "$folder/$made" "$dir/${where##*/}.tar"
	ok $? "an image for $arch from nothing in $where, in $(($(date +%s) - started)) s" || done_testing
	rm -rf "$folder"
done
digest() { # IMAGE.tar
	tar -xOf "$1" ./index.json | jq -r '.manifests[0].digest'
}
is "$(digest "$dir/one.tar")" "$(digest "$dir/two.tar")" "of the same digest"
cmp "$dir/one.tar" "$dir/two.tar" >"$dir/out" 2>&1
ok $? "and the same bytes: $(digest "$dir/one.tar")"
done_testing
