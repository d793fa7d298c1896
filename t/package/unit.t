#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conf/systemd: a unit that systemd accepts, starts what is installed, takes away what the daemon
# does not need, and waits as long as the daemon takes.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
. t/integration/tap.sh
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
tap_said=$root/out
unit=$root/multikueued.service
mkdir "$root/bin"
ln -s "$(realpath "$B/multikueued")" "$root/bin/multikueued"
sed "s|@PREFIX@|$root|" conf/systemd/multikueued.service >"$unit"

value() { # KEY: what stands behind it
	sed -n "s/^$1=//p" "$unit"
}
seconds() { # NAME FILE: a constant in milliseconds, as seconds
	sed -n "s/.*[^A-Z_]$1 = \([0-9]*\)000\b.*/\1/p" "$2"
}

awk '
	/^(#|;|$)/ { next }
	/^\[(Unit|Service|Install)\]$/ { section = $0; next }
	!/^[A-Z][A-Za-z]*=/ { print FNR ": no KEY=VALUE: " $0; next }
	!section { print FNR ": outside of a section: " $0; next }
	{ key = $0; sub(/=.*/, "", key) }
	key != "SystemCallFilter" && seen[key]++ { print FNR ": twice: " key }
	/[ \t\\]$/ { print FNR ": ends with a blank or a backslash" }' "$unit" >"$root/out"
[ ! -s "$root/out" ] && grep -qx '\[Install\]' "$unit" && ! grep -q @PREFIX@ "$unit"
ok $? "sections of KEY=VALUE, each key once"
if command -v systemd-analyze >/dev/null 2>&1; then
	systemd-analyze verify --man=no "$unit" >"$root/out" 2>&1 && [ ! -s "$root/out" ]
	ok $? "systemd-analyze finds nothing"
	# Tenths of its figure, of 100 at most: a service without limits has 96.
	systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$root/out" 2>&1
	ok $? "what it could do on the host is little"
else
	skip "systemd-analyze finds nothing" "no systemd-analyze SKIP-CI-OK"
	skip "what it could do on the host is little" "no systemd-analyze SKIP-CI-OK"
fi
for line in Type=notify NoNewPrivileges=yes DynamicUser=yes ProtectSystem=strict CapabilityBoundingSet= \
	MemoryDenyWriteExecute=yes SystemCallFilter=@system-service SystemCallArchitectures=native; do
	grep -qxF "$line" "$unit" || echo "no $line"
done >"$root/out"
[ ! -s "$root/out" ]
ok $? "it is ready when it says so, and has the limits"
# The files are not there, and that is all that it says.
eval "$(value ExecStart | sed "s|%d|$root|; s|/etc/multikueued|$root|")" >"$root/out" 2>&1
is $? 1 "the command line is understood"
grep -q "\"file\":\"$root/multikueued.yaml\".*No such file" "$root/out"
ok $? "and names the configuration"
is "$(value LimitNOFILE)" "$(sed -n 's/.*DESCRIPTORS_MAX = \([0-9]*\).*/\1/p' core/daemon/descriptors.h)" \
	"descriptors as many as it takes"
least=$(($(seconds DRAIN_MS core/daemon/daemon.c) + $(seconds RELEASE_MS core/daemon/daemon.c) + $(seconds LAST_RESORT_MS core/daemon/last_resort.h)))
[ "$least" -ge 30 ] && [ "$(value TimeoutStopSec)" -gt "$least" ]
ok $? "it is not killed while it drains ($least s)"
[ "$(value WatchdogSec)" -gt "$(seconds LAST_RESORT_MS core/daemon/last_resort.h)" ]
ok $? "nor while it cleans up"
done_testing
