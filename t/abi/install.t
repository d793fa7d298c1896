#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install brings all that a plugin's author needs: a copy of the installed template
# builds against the installed headers as pkg-config names them, and passes the installed
# checker; the installed daemon loads the installed plugins. The container file brings the
# libraries that what is installed needs.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
. t/integration/tap.sh
tap_said=$root/out
make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s"

$make B="$B" CC="${CC:-gcc}" DESTDIR="$root/dest" PREFIX=/opt/mk install >"$root/out" 2>&1
ok $? "make install with DESTDIR and PREFIX"
dest=$root/dest/opt/mk
find "$root/dest" -type f ! -path "$dest/*" >"$root/out"
[ ! -s "$root/out" ]
ok $? "nothing lands outside the prefix"
find "$dest" -type f -perm /022 >"$root/out"
[ ! -s "$root/out" ]
ok $? "nothing is writable for others"
for h in sdk/multikueue/*.h; do
	cmp "$h" "$dest/include/multikueue/$(basename "$h")"
done >"$root/out" 2>&1
[ ! -s "$root/out" ]
ok $? "all headers"

"$dest/bin/multikueued" --version >"$root/out" 2>&1 && grep -q "$(cat VERSION)" "$root/out"
ok $? "the daemon says its version"
sed "s|directory: .*|directory: $dest/lib/multikueue/plugins\n  externalFrameworks: [{name: Foo.v1.ex.io}]|" \
	conf/multikueued.yaml >"$root/config.yaml"
"$dest/bin/multikueued" --config "$root/config.yaml" --list-plugins >"$root/out" 2>&1 &&
	[ "$(grep -o "$dest/lib/multikueue/plugins/.*" "$root/out" | sort -u | wc -l)" -eq "$(find "$dest/lib/multikueue/plugins" -name '*.so' | wc -l)" ] &&
	grep -q job.so "$root/out"
ok $? "the daemon lists the plugins"

printf 'apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n' >"$root/plain.yaml"
"$dest/bin/multikueued" --config "$root/plain.yaml" --list-plugins 2>&1 | grep -q " $dest/lib/multikueue/plugins/job.so$"
ok $? "by default it looks for them below its own prefix"
for f in rbac/manager.yaml rbac/worker.yaml deploy/deployment.yaml admission/webhook.yaml kustomization.yaml \
	visibility/kustomization.yaml quickstart/worker.yaml \
	monitoring/rules.yaml monitoring/prometheusrule.yaml monitoring/dashboard.json; do
	cmp "conf/$f" "$dest/share/multikueue/conf/$f"
done >"$root/out" 2>&1
[ ! -s "$root/out" ]
ok $? "the manifests are installed, with the rights"
grep -q 'directory: /opt/mk/lib/multikueue/plugins$' "$dest/share/multikueue/conf/multikueued.yaml"
ok $? "and the sample configuration, with the prefix"
grep -q '^ExecStart=/opt/mk/bin/multikueued ' "$dest/lib/systemd/system/multikueued.service"
ok $? "and the systemd unit"
for f in man8/multikueued.8 man5/multikueued.yaml.5 man1/kubectl-multikueue.1; do
	[ -s "$dest/share/man/$f" ] || echo "no $f"
done >"$root/out"
[ ! -s "$root/out" ]
ok $? "and the man pages"
for f in README.md docs/operations.md docs/decisions/README.md; do
	cmp "$f" "$dest/share/doc/multikueue/$f"
done >"$root/out" 2>&1
[ ! -s "$root/out" ]
ok $? "and the pages"

# The image has the libraries that the installed programs ask for, and no
# others. Names are Debian 13's.
package() { # soname: the package that brings it
	case $1 in
	libc.so.* | libm.so.* | ld-linux*) ;;
	libasan.so.* | libubsan.so.*) ;; # what tests the flavour asan, which no image has
	libcrypto.so.3 | libssl.so.3) echo libssl3t64 ;;
	libcurl.so.4) echo libcurl4t64 ;;
	libnghttp2.so.14) echo libnghttp2-14 ;;
	libz.so.1) echo zlib1g ;;
	libevent_*) echo "$1" | sed 's/^libevent_\([a-z]*\)-\(.*\)\.so\.\(.*\)/libevent-\1-\2-\3t64/' ;;
	libyaml-0.so.2) echo libyaml-0-2 ;;
	libyyjson.so.0) echo libyyjson0 ;;
	*) echo "of-$1" ;;
	esac
}
readelf -d "$dest"/bin/* "$dest"/lib/multikueue/plugins/*.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u |
	while read -r so; do package "$so"; done | sort -u >"$root/asked"
sed -n 's/^ *\(lib[^ ]*\|zlib1g\) \\$/\1/p' conf/deploy/Containerfile | sort >"$root/brought"
diff "$root/asked" "$root/brought" >"$root/out" && [ -s "$root/asked" ]
ok $? "the image has the libraries that are needed"
[ "$(sed -n 's/.*newTag: //p' conf/kustomization.yaml)" = "$(cat VERSION)" ] >"$root/out"
ok $? "conf/kustomization.yaml names the image of this version"

if command -v pkg-config >/dev/null; then
	pc="env PKG_CONFIG_PATH=$dest/lib/pkgconfig pkg-config --define-variable=prefix=$dest"
	[ "$($pc --modversion multikueue-plugin)" = "$(cat VERSION)" ] >"$root/out" 2>&1
	ok $? "pkg-config knows the version"
	cp -r "$($pc --variable=templatedir multikueue-plugin)" "$root/plugin" >"$root/out" 2>&1 &&
		sed -i 's/widget/gadget/g' "$root/plugin/Makefile" && mv "$root/plugin/widget.c" "$root/plugin/gadget.c" &&
		$make -C "$root/plugin" SDK="$($pc --variable=includedir multikueue-plugin)" \
			CHECK="$($pc --variable=checker multikueue-plugin)" check >"$root/out" 2>&1 &&
		[ "$(grep -c '^ok ' "$root/out")" -gt 0 ] && ! grep -q '^not ok' "$root/out"
	ok $? "a copy of the template, renamed, builds and passes the checker"
else
	skip "pkg-config knows the version" "no pkg-config"
	skip "a copy of the template" "no pkg-config"
fi
done_testing
