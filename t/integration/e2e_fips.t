#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The daemon with OpenSSL's FIPS provider alone: it leads, serves its webhook and has jobs run, over
# both transports, and what that provider does not have is neither offered nor taken.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
# shellcheck source=t/integration/webhook_lib.sh
. t/integration/webhook_lib.sh
need curl jq openssl
for provider in build/deps/usr/lib/*/ossl-modules/fips.so /usr/lib/*/ossl-modules/fips.so; do
	[ ! -f "$provider" ] || break
done
[ -f "$provider" ] || {
	echo "1..0 # SKIP no openssl-provider-fips: conf/install-deps test"
	exit 0
}
tap_said=$dir/out

# As fips_module(7) says, but for the path, which is Debian's own where the package is installed.
openssl fipsinstall -module "$(realpath "$provider")" -out "$dir/fipsmodule.cnf" >"$dir/out" 2>&1
ok $? "the provider passes its own tests here" || done_testing
sed -i "/^\[fips_sect\]/a module = $(realpath "$provider")" "$dir/fipsmodule.cnf"
cat >"$dir/fips.cnf" <<END
openssl_conf = all
.include $dir/fipsmodule.cnf
[all]
providers = providers
alg_section = algorithms
[providers]
fips = fips_sect
base = base_sect
[base_sect]
activate = 1
[algorithms]
default_properties = fips=yes
END
OPENSSL_CONF=$dir/fips.cnf openssl list -providers >"$dir/out" 2>&1 && grep -q '^ *fips$' "$dir/out" && ! grep -q '^ *default$' "$dir/out"
ok $? "it is there, and OpenSSL's default one is not"
! OPENSSL_CONF=$dir/fips.cnf openssl dgst -md5 /dev/null >"$dir/out" 2>&1
ok $? "what it does not have is refused"

servers() { # RULES of OpenSSL: API servers of their own
	fleet_stop
	rm -rf "$dir/clusters" "$dir"/*.ca # new ones have another authority
	printf '%s\n' 'openssl_conf = all' '[all]' 'ssl_conf = ssl' '[ssl]' 'system_default = rules' '[rules]' "$@" >"$dir/servers.cnf"
	OPENSSL_CONF=$dir/servers.cnf
	export OPENSSL_CONF
	fleet_kubesim --run-ms 200-400
	servers_rc=$?
	unset OPENSSL_CONF
	return $servers_rc
}
daemon() { # NAME: with the provider
	OPENSSL_CONF=$dir/fips.cnf
	export OPENSSL_CONF
	fleet_manager "$1"
	unset OPENSSL_CONF
}
ended() { # NAME
	kill "$MANAGER_PID"
	wait "$MANAGER_PID"
	is $? 0 "$1: it ends well"
}
leads() { # NAME
	grep -q '"msg":"leading"' "$dir/$1.log"
}
speaks() { # OPTION of openssl...
	openssl s_client -connect "127.0.0.1:$((MANAGER_PORT + 1))" "$@" </dev/null 2>&1 | grep -q '^-----BEGIN CERTIFICATE'
}
fleet_plugins

for FLEET_TRANSPORT in auto curl; do
	servers 'MinProtocol = TLSv1.2'
	ok $? "$FLEET_TRANSPORT: API servers with OpenSSL's own algorithms"
	daemon "a-$FLEET_TRANSPORT" && wait_for 60 leads "a-$FLEET_TRANSPORT" && wait_for 60 reason_is Active
	ok $? "$FLEET_TRANSPORT: the daemon leads, and is connected to its workers"
	grep -q fips.so "/proc/$MANAGER_PID/maps"
	ok $? "$FLEET_TRANSPORT: the provider is in the process"
	fleet_demo --jobs 3 --limit 60
	ok $? "$FLEET_TRANSPORT: jobs run"
	wait_for 60 speaks -tls1_3
	ok $? "$FLEET_TRANSPORT: the webhook has a certificate that the daemon made"
	authority
	review batch/Job CREATE '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","namespace":"default"}}' |
		ask "$MANAGER_PORT" | jq -e '.response.allowed' >"$dir/out" 2>&1
	ok $? "$FLEET_TRANSPORT: and answers a review"
	speaks -tls1_3 -ciphersuites TLS_AES_256_GCM_SHA384
	ok $? "$FLEET_TRANSPORT: with AES-GCM"
	! speaks -tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256 && ! speaks -tls1_2 -cipher ECDHE+CHACHA20
	ok $? "$FLEET_TRANSPORT: not with ChaCha20, which the provider does not have"
	ended "$FLEET_TRANSPORT"
done
FLEET_TRANSPORT=auto

servers 'MaxProtocol = TLSv1.2' 'CipherString = ECDHE+CHACHA20'
ok $? "API servers that have ChaCha20 alone"
daemon b && wait_for 60 grep -q '"mod":"link".*"err":"[^"]*\(tls\|TLS\|SSL\)' "$dir/b.log" && ! leads b
ok $? "are out of reach, and the log says that the handshake failed"
ended "without a lease"
notes "$dir"/*.log
done_testing
