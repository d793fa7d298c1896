# SPDX-License-Identifier: Apache-2.0
# TAP for tests in sh. Sourced from the root of the project.
# shellcheck shell=sh

tap_n=0
tap_bad=0

# Succeeds when STATUS is 0. After a failure the end of the file $tap_said
# is shown, when that names one.
ok() { # STATUS NAME
	tap_n=$((tap_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_n - $2"
		return 0
	fi
	tap_bad=1
	echo "not ok $tap_n - $2"
	[ -z "${tap_said:-}" ] || tail -n 20 "$tap_said" | sed 's/^/#   /'
	return 1
}

is() { # FOUND EXPECTED NAME
	[ "$1" = "$2" ]
	ok $? "$3" || printf '#   found    %s\n#   expected %s\n' "$1" "$2"
}

diag() { # LINE...
	printf '#   %s\n' "$@"
}

skip() { # NAME WHY
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

done_testing() {
	echo "1..$tap_n"
	exit $tap_bad
}

need() { # PROGRAM...
	for need in "$@"; do
		command -v "$need" >/dev/null 2>&1 || {
			echo "1..0 # SKIP $need is not installed"
			exit 0
		}
	done
}
