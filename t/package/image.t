#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make image: an OCI layout that holds together, is the same the second time, has no shell and
# nothing that its user could write; and the daemon of it, with that root file system and no other,
# runs jobs on a simulated fleet. ARCH=arm64 tries the image for arm64, its daemon by an emulator.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
. t/package/lib.sh
need jq dpkg-deb apt-get unshare readelf
shipped "an image"
tap_said=$dir/out
arch=${ARCH:-$(dpkg --print-architecture)}
emulator=
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	need aarch64-linux-gnu-gcc qemu-aarch64-static
	emulator=/emulator
	make="$make B=build/$arch/${B##*/} ARCH=$arch"
fi
made=build/multikueued-$(cat VERSION)-$arch.oci.tar
if [ ! -f "conf/image/packages.$arch" ]; then
	skip "an image" "conf/image has no list of packages for $arch SKIP-CI-OK"
	done_testing
fi

rm -f "$made"
$make image >"$dir/out" 2>&1
if grep -q 'cannot be had' "$dir/out"; then
	skip "an image" "$(grep 'cannot be had' "$dir/out" | head -n 1) SKIP-CI-OK"
	done_testing
fi
mv "$made" "$dir/image.tar"
ok $? "make image" || done_testing
said=$(grep -o 'sha256:.*' "$dir/out")
(umask 077 && TZ=Pacific/Chatham $make image >"$dir/out" 2>&1) && cmp "$made" "$dir/image.tar" >"$dir/out" 2>&1
ok $? "byte for byte the same, with another umask and time zone"

layout=$dir/layout
root=$dir/root
mkdir "$layout" "$root"
tar -xf "$dir/image.tar" -C "$layout"
is "$(jq -r .imageLayoutVersion "$layout/oci-layout")" 1.0.0 "an OCI layout"
for blob in "$layout"/blobs/sha256/*; do
	[ "$(sha256sum <"$blob" | cut -d' ' -f1)" = "${blob##*/}" ] || echo "$blob"
done >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "each blob has its digest for a name"
blob() { # DIGEST
	echo "$layout/blobs/sha256/${1#sha256:}"
}
manifest=$(jq -r '.manifests[0].digest' "$layout/index.json")
is "${said%%,*}" "$manifest" "make says the digest of the manifest"
config=$(blob "$(jq -r .config.digest "$(blob "$manifest")")")
layer=$(blob "$(jq -r '.layers[0].digest' "$(blob "$manifest")")")
is "$(jq -r '[.config.size, .layers[0].size] | map(tostring) | join(" ")' "$(blob "$manifest")")" \
	"$(stat -c %s "$config") $(stat -c %s "$layer")" "the manifest has the sizes"
is "$(jq -r '.rootfs.diff_ids[0]' "$config")" "sha256:$(gzip -dc "$layer" | sha256sum | cut -d' ' -f1)" "the configuration that of the files"
is "$(jq -r '[.os, .architecture, .config.User, .config.Entrypoint[0]] | join(" ")' "$config")" \
	"linux $arch 65532:65532 /usr/local/bin/multikueued" "it starts the daemon, as a user without rights"
[ "$(stat -c %s "$layer")" -lt 40000000 ]
ok $? "it is smaller than 40 MB ($(($(stat -c %s "$layer") / 1000)) kB)"

gzip -dc "$layer" | tar -tv --numeric-owner | awk '
	$2 != "0/0" { print "owner: " $0 }
	$1 ~ /[sS]/ { print "set id: " $0 }
	$1 !~ /^l/ && $1 ~ /^.....w|^........w/ && $6 != "./tmp/" { print "writable: " $0 }' >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "all of it is root's, and no other's to write, but /tmp"
tar -xzf "$layer" -C "$root"
find "$root" \( -name '*sh' -o -name busybox -o -name perl \) -type f ! -path '*/doc/*' >"$dir/out"
find "$root" -type f -perm -100 ! -path "$root/usr/local/*" ! -name '*.so*' >>"$dir/out"
grep -lrI '^#!' "$root/usr/local" >>"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no shell and no program but ours"
grep -c 'BEGIN CERTIFICATE' "$root/etc/ssl/certs/ca-certificates.crt" >"$dir/out"
[ "$(cat "$dir/out")" -gt 100 ] && [ -f "$root/usr/lib/ssl/openssl.cnf" ] && [ -f "$root/usr/lib/ssl/cert.pem" ]
ok $? "certificates of authorities and OpenSSL's configuration, where it looks for them"
# As many as are asked for, and none that is not.
find "$root/usr" \( -path '*/bin/*' -o -name '*.so' -o -name '*.so.*' \) -type f -exec readelf -dW {} + |
	sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u >"$dir/asked"
find "$root/usr/lib" "$root"/usr/local/lib/multikueue/*.so* -maxdepth 2 -type f -name '*.so*' | sed 's|.*/||' | sort -u |
	diff "$dir/asked" - >"$dir/out"
ok $? "the libraries that are asked for, and no others ($(wc -l <"$dir/asked"))"
grep -v '^#' "conf/image/packages.$arch" | while read -r name rest; do
	[ -s "$root/usr/share/doc/$name/copyright" ] || echo "$name"
done >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "with the licence of each package"

# The daemon sees that root file system alone; /proc is there as in a container. An emulator, which
# is linked to nothing, is the one thing more.
[ -z "$emulator" ] || install -m 755 "$(command -v qemu-aarch64-static)" "$root$emulator"
mkdir "$dir/bin"
cat >"$dir/bin/multikueued" <<END
#!/bin/sh
# --config FILE --kubeconfig FILE
set -e
sed 's|directory: .*|directory: /usr/local/lib/multikueue/plugins|' "\$2" >"$root/etc/multikueue/config.yaml"
install -m 644 "\$4" "$root/etc/multikueue/kubeconfig"
if [ "\$(id -u)" = 0 ]; then
	exec unshare -m sh -c 'mount --rbind /proc "\$1/proc" && exec chroot --userspec=65532:65532 "\$@"' sh "$root" \\
		$emulator /usr/local/bin/multikueued --config /etc/multikueue/config.yaml --kubeconfig /etc/multikueue/kubeconfig
fi
exec unshare -Urm sh -c 'mount --rbind /proc "\$1/proc" && exec chroot "\$@"' sh "$root" \\
	$emulator /usr/local/bin/multikueued --config /etc/multikueue/config.yaml --kubeconfig /etc/multikueue/kubeconfig
END
chmod 755 "$dir" "$dir/bin/multikueued" "$root"
if ! unshare -m true 2>/dev/null && ! unshare -Urm true 2>/dev/null; then
	skip "the daemon runs from that root file system" "no right to a mount namespace SKIP-CI-OK"
	done_testing
fi
FLEET_WAIT=60
fleet_kubesim --run-ms 200-800
ok $? "a simulated fleet is up"
programs=$B
B=$dir/bin
fleet_plugins() { :; }
fleet_manager image
ok $? "the daemon starts from that root file system"
B=$programs
is "$(readlink "/proc/$MANAGER_PID/root")" "$root" "and sees no other"
"$B/demo" --dir "$dir/clusters" --jobs 6 --figures "$dir/figures" --limit 120 >"$dir/out" 2>&1
is "$?/$(figure "$dir/figures" finished)/$(figure "$dir/figures" left)" 0/6/0 "jobs run on the workers, end, and leave nothing behind"
kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "it ends cleanly when told to"
is "$(grep -c '"level":"error"' "$dir/image.log")" 0 "without an error in its log"
notes "$dir/image.log"
[ -n "$emulator" ] || skip "the same for arm64" "ARCH=arm64 t/package/image.t SKIP-CI-OK"
done_testing
