#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Credentials of workers leave the daemon's memory when they are replaced or taken away: token, key,
# and the kubeconfig and the Secret that had them, over HTTP/2, HTTP/1.1 and libcurl. All that the
# process has mapped readable is searched.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq openssl "${CC:-cc}"
[ "$(id -u)" = 0 ] || {
	echo "1..0 # SKIP SKIP-CI-OK only root reads the memory of a process that is not traceable"
	exit 0
}
SECRETS=/api/v1/namespaces/kueue-system/secrets

${CC:-cc} -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -o "$dir/remembers" t/tools/remembers.c >"$dir/out" 2>&1
tap_said=$dir/out ok $? "the test can look into a process" || done_testing
fleet_plugins

hex() {
	od -An -v -tx1 | tr -d ' \n'
}
# A text as it stands in base64 of a longer one, whose beginning is not known: one of three. The
# ends have what stands beside it.
in_base64() { # NAME TEXT
	for skip in 1 2 3; do
		echo "$1$skip $(printf %s "$2" | tail -c +$skip | base64 -w0 | tail -c +5 | head -c 36 | hex)"
	done
}
# All forms of a kubeconfig's key: its lines in PEM, their base64 in the kubeconfig, the base64 of
# that in the Secret, and the number as DER and as OpenSSL's arithmetic have it.
forms_of_key() { # FILE NAME
	field "$1" client-key-data | base64 -d >"$dir/$2.key"
	# The first bytes of a key tell its kind, the last are its public half.
	number=$(openssl pkey -in "$dir/$2.key" -text -noout 2>/dev/null |
		awk '/^priv:/ { on = 1; next } /^pub:/ { on = 0 } on' | tr -d ' :\n' | sed 's/^00//')
	echo "$2-number $number"
	echo "$2-limbs $(echo "$number" | sed 's/../&\n/g' | tac | tr -d '\n')"
	echo "$2-pem $(sed -n 2p "$dir/$2.key" | cut -c17-48 | hex)"
	echo "$2-base64 $(field "$1" client-key-data | cut -c101-140 | hex)"
	in_base64 "$2-secret" "$(field "$1" client-key-data | cut -c101-150)"
}
# The Huffman code of HTTP/2's header fields, for the letters of our tokens, from the first whole
# byte behind "Bearer " on.
huffman() { # TOKEN
	printf 'Bearer %s' "$1" | sed 's/./&\n/g' | awk '
		BEGIN {
			split("B 1011101 e 00101 a 00011 r 101100 0 00000 1 00001 2 00010 3 011001 4 011010 5 011011 " \
				"6 011100 7 011101 8 011110 9 011111 b 100011 c 00100 d 100100 f 100101", t, " ")
			for (i = 1; i in t; i += 2) code[t[i]] = t[i + 1]
			code[" "] = "010100"
		}
		$0 != "" { bits = bits code[$0] }
		END {
			for (i = 49; i + 7 <= length(bits); i += 8) {
				n = 0
				for (k = 0; k < 8; k++) n = 2 * n + substr(bits, i + k, 1)
				printf "%02x", n
			}
		}'
}
forms_of_token() { # TOKEN NAME
	echo "$2-text $(printf %s "$1" | hex)"
	echo "$2-huffman $(huffman "$1")"
	in_base64 "$2-secret" "$1"
}

# w1 and w3 are known by keys, w2 by a token, which it lends and which stands nowhere else.
new_token() {
	od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}
put_secret() { # CLUSTER FILE
	api mgr PATCH "$SECRETS/$1-kubeconfig" '{"data":{"kubeconfig":"'"$(base64 -w0 "$2")"'"}}' | jq -e .metadata.name >/dev/null
}
give_token() { # CLUSTER TOKEN
	api "$1" POST /kubesim/token '{"token":"'"$2"'"}' >/dev/null
	sed "s/^\( *token: \).*/\1$2/" "$dir/clusters/$1-token.kubeconfig" >"$dir/given"
	put_secret "$1" "$dir/given"
}
cond() { # CLUSTER REASON
	api mgr GET "${CLUSTER%w1}$1" | jq -e --arg r "$2" 'any(.status.conditions[]?; .type == "Active" and .reason == $r)'
}
active() { # CLUSTER...
	for active_at in "$@"; do
		cond "$active_at" Active >/dev/null || return 1
	done
}
gone() { # FORMS
	"$dir/remembers" "$MANAGER_PID" "$dir/forms" >"$dir/found" 2>&1 && ! grep -qE -e "$1" "$dir/found"
}

# WHAT: the credentials that are looked for.
leaves() { # HOW TRANSPORT WHAT [OPTIONS OF KUBESIM...]
	fleet_stop
	rm -rf "$dir/clusters" "$dir"/*.ca
	how=$1
	FLEET_TRANSPORT=$2
	what=$3
	shift 3
	first=$(new_token)
	fleet_kubesim --run-ms 200-400 "$@" && give_token w2 "$first"
	ok $? "$how: a fleet is up"
	{
		forms_of_key w1.kubeconfig key1
		forms_of_key w3.kubeconfig key3
		forms_of_token "$first" token2
	} | grep -E -e "$what" >"$dir/forms"
	fleet_manager "m-$how" && wait_for 60 active w1 w2 w3
	ok $? "$how: the daemon is connected with keys and a token"
	fleet_demo --jobs 6 --limit 60
	ok $? "$how: jobs run"
	"$dir/remembers" "$MANAGER_PID" "$dir/forms" >"$dir/found" 2>&1
	is "$(cut -d- -f1 "$dir/found" | sort -u)" "$(cut -d- -f1 "$dir/forms" | sort -u)" "$how: what is in use is found"
	wait_for 60 gone '-huffman '
	ok $? "$how: but not in what was sent"

	give_token w2 "$(new_token)" && give_token w1 "$(new_token)" &&
		api mgr DELETE "${CLUSTER%w1}w3" | jq -e . >/dev/null && api mgr DELETE "$SECRETS/w3-kubeconfig" | jq -e . >/dev/null
	ok $? "$how: a token is replaced by another, a key by a token, and a third cluster is deleted with its Secret"
	wait_for 60 gone '-(number|limbs|huffman) '
	ok $? "$how: nothing is left of what connections and requests had"
	# What the readers of Secrets and kubeconfigs hold is used again by those that come next.
	for n in 1 2 3; do
		give_token w2 "$(new_token)" && give_token w1 "$(new_token)" && wait_for 60 active w1 w2 || break
	done
	ok $? "$how: other credentials come and go"
	wait_for 60 gone .
	tap_said=$dir/found ok $? "$how: nor of the texts that had them"
	kill "$MANAGER_PID"
	wait "$MANAGER_PID"
	is $? 0 "$how: the daemon ends well"
}
leaves http2 auto .
leaves http1 auto . --http1 mgr,w1,w2,w3
# HTTP/2 in libcurl has buffers of its own, with heads of requests and what it read last:
# docs/threat-model.md.
leaves libcurl curl '^key.-(number|limbs|pem|base64) '
notes "$dir"/*.log
done_testing
