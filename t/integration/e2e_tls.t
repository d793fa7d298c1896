#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Versions of TLS towards API servers and of listeners: what the configuration and OpenSSL's own
# ask for holds, over both transports, and one that cannot be met is told at the start.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq openssl

rules() { # NAME LINE...: of OpenSSL, for all contexts of a program
	rules_file=$dir/$1.cnf
	shift
	printf '%s\n' 'openssl_conf = all' '[all]' 'ssl_conf = ssl' '[ssl]' 'system_default = rules' '[rules]' "$@" >"$rules_file"
}
rules only12 'MaxProtocol = TLSv1.2'
rules only13 'Protocol = ALL, -TLSv1.2'
rules any 'MinProtocol = TLSv1.2'
rules least13 'MinProtocol = TLSv1.3'
rules chacha12 'MaxProtocol = TLSv1.2' 'CipherString = ECDHE+CHACHA20'
rules aes 'CipherString = ECDHE+AESGCM'
rules chacha 'CipherString = ECDHE+CHACHA20'
printf '%s\n' 'openssl_conf = all' '[all]' 'alg_section = algorithms' '[algorithms]' 'default_properties = fips=yes' >"$dir/fips.cnf"

servers() { # RULES: API servers of their own
	fleet_stop
	rm -rf "$dir/clusters" "$dir"/*.ca # new ones have another authority
	OPENSSL_CONF=$dir/$1.cnf
	export OPENSSL_CONF
	fleet_kubesim --run-ms 200-400
	servers_rc=$?
	unset OPENSSL_CONF
	return $servers_rc
}
# The daemon under rules of OpenSSL, "-" for those of the machine: daemon NAME RULES [MINVERSION]
daemon() {
	FLEET_MORE=
	[ -z "${3:-}" ] || FLEET_MORE="    tls: {minVersion: $3}"
	[ "$2" = - ] || {
		OPENSSL_CONF=$dir/$2.cnf
		export OPENSSL_CONF
	}
	fleet_manager "$1"
	unset OPENSSL_CONF
}
ended() {
	kill "$MANAGER_PID"
	wait "$MANAGER_PID"
}
leads() { # NAME
	grep -q '"msg":"leading"' "$dir/$1.log"
}
works() { # NAME: it leads, and is connected to a worker
	wait_for 60 leads "$1" && wait_for 60 reason_is Active
}
refused() { # NAME: it says that the handshake failed, and does not lead
	wait_for 60 grep -q '"mod":"link".*"err":"[^"]*\(tls\|TLS\|SSL\)' "$dir/$1.log" && ! leads "$1"
}
fleet_plugins

servers only12
ok $? "API servers that have TLS 1.2 alone"
daemon a - && works a
ok $? "are spoken to"
ended
for FLEET_TRANSPORT in auto curl; do
	daemon "b-$FLEET_TRANSPORT" - VersionTLS13 && refused "b-$FLEET_TRANSPORT"
	ok $? "not with network.tls.minVersion: VersionTLS13 ($FLEET_TRANSPORT)"
	ended
	daemon "c-$FLEET_TRANSPORT" least13 && refused "c-$FLEET_TRANSPORT"
	ok $? "nor where openssl.cnf has MinProtocol = TLSv1.3 ($FLEET_TRANSPORT)"
	ended
done
daemon d - VersionTLS12 && works d
ok $? "but with VersionTLS12"
ended

servers only13
ok $? "API servers that have TLS 1.3 alone"
for FLEET_TRANSPORT in auto curl; do
	daemon "e-$FLEET_TRANSPORT" - VersionTLS13 && works "e-$FLEET_TRANSPORT"
	ok $? "are spoken to with VersionTLS13 ($FLEET_TRANSPORT)"
	[ $FLEET_TRANSPORT = curl ] || {
		fleet_demo --jobs 3 --limit 60
		ok $? "and jobs run"
	}
	ended
done
FLEET_TRANSPORT=auto

servers chacha12
daemon f aes && refused f
ok $? "ciphers: those of openssl.cnf (CipherString) alone are offered"
ended
daemon g chacha && works g
ok $? "one that both sides have is taken"
ended

OPENSSL_CONF=$dir/fips.cnf "$B/multikueued" --check-config "$dir/a.yaml" >"$dir/out" 2>&1
is $? 1 "algorithms of a FIPS provider that is not there: --check-config fails"
grep -q 'OpenSSL cannot be used as it is configured (.*): see openssl.cnf or OPENSSL_CONF, and the provider that it names' "$dir/out"
ok $? "and says where to look"
OPENSSL_CONF=$dir/fips.cnf timeout 60 "$B/multikueued" --config "$dir/a.yaml" --kubeconfig "$dir/clusters/mgr.kubeconfig" >"$dir/out" 2>&1
is $? 1 "the daemon ends at once"
grep -q '"level":"error".*OpenSSL cannot be used as it is configured' "$dir/out"
ok $? "with the same words"

# --- listeners: the webhook stands for all, whose sessions are made in one place -----------------
# shellcheck source=t/integration/webhook_lib.sh
. t/integration/webhook_lib.sh
speaks() { # OPTION of openssl
	openssl s_client -connect "127.0.0.1:$((MANAGER_PORT + 1))" "$1" </dev/null 2>&1 | grep -q '^-----BEGIN CERTIFICATE'
}
servers any
ok $? "API servers that have both"
daemon h any && wait_for 60 speaks -tls1_3
ok $? "the webhook has TLS 1.3"
speaks -tls1_2
ok $? "and TLS 1.2"
ended
for WEBHOOK_MORE in '' 'tls: {minVersion: VersionTLS12}' 'tls: {cipherSuites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]}'; do
	daemon i least13 && wait_for 60 speaks -tls1_3
	ok $? "where openssl.cnf has MinProtocol = TLSv1.3 it has that${WEBHOOK_MORE:+, with $WEBHOOK_MORE}"
	! speaks -tls1_2
	ok $? "and TLS 1.2 no more"
	ended
done
WEBHOOK_MORE='tls: {minVersion: VersionTLS13}'
daemon j any && wait_for 60 speaks -tls1_3 && ! speaks -tls1_2
ok $? "nor with tls.minVersion: VersionTLS13"
ended
notes "$dir"/*.log
done_testing
