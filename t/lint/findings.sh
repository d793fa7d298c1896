# SPDX-License-Identifier: Apache-2.0
# What tests of t/lint share: TAP, a folder of their own, and the file of findings in it. Sourced
# from the root.
# shellcheck shell=sh

# shellcheck source=t/integration/tap.sh
. t/integration/tap.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2034
tap_said=$tmp/findings # the end of it is shown after a failure

# Is nothing found?
check() { # NAME
	[ ! -s "$tmp/findings" ]
	ok $? "$1"
}
