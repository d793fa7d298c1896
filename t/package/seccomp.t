#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conf/deploy/seccomp.json, and the rest of what a pod is held to: the daemon, without capabilities
# and as a user of its own, runs jobs and a program for credentials under exactly these system
# calls, and every other call is refused.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/integration/lib.sh
. t/integration/lib.sh
need curl jq "${CC:-cc}" setpriv
profile=conf/deploy/seccomp.json
tap_said=$dir/out
chmod 755 "$dir"

# --- the profile ----------------------------------------------------------------------------------
jq -e '.defaultAction == "SCMP_ACT_ERRNO" and .defaultErrnoRet == 1 and (keys == ["defaultAction", "defaultErrnoRet", "syscalls"]) and
	all(.syscalls[]; (.action == "SCMP_ACT_ALLOW" or (.action == "SCMP_ACT_ERRNO" and .errnoRet == 38)) and
		all(.args[]?; .op == "SCMP_CMP_EQ" or .op == "SCMP_CMP_MASKED_EQ"))' $profile >"$dir/out" 2>&1
ok $? "an allow-list: a call that it does not name is an error"
jq -r '.syscalls[].names[]' $profile >"$dir/names"
is "$(jq -r '.syscalls[0].names | . == (unique)' $profile)" true "its names are in order, each once"
# NAME NUMBER of this machine, as the headers have them
echo '#include <sys/syscall.h>' | ${CC:-cc} -E -dM - | sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/\1 \2/p' >"$dir/table"
[ "$(wc -l <"$dir/table")" -gt 250 ]
ok $? "the headers name the calls of this machine"
# A runtime leaves out names that it does not know, so a wrong one would never be seen.
if [ "$(uname -m)" = x86_64 ]; then
	is "$(awk 'NR == FNR { known[$1] = 1; next } !($1 in known)' "$dir/table" "$dir/names" |
		grep -vx -e fchmodat2 -e map_shadow_stack)" "" "every name is a call, also of Linux newer than the headers"
fi
for name in ptrace process_vm_readv mount umount2 pivot_root move_mount unshare setns bpf perf_event_open keyctl add_key request_key \
	userfaultfd io_uring_setup init_module finit_module kexec_load open_by_handle_at setuid setgid capset chroot mknod mknodat \
	personality seccomp clock_settime reboot syslog memfd_create; do
	! grep -qx $name "$dir/names" || echo $name
done >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "none of the calls that lead out of a container, or look into other processes"

${CC:-cc} -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -o "$dir/confine" t/tools/confine.c >"$dir/out" 2>&1
ok $? "the test has a filter of its own" || done_testing
jq -r '.syscalls[] | (.errnoRet // 0) as $answer | .names[] as $name | [.args[]? |
	if .op == "SCMP_CMP_EQ" then "\(.index) 18446744073709551615 \(.value)" else "\(.index) \(.value) \(.valueTwo // 0)" end] as $args |
	"\($name) \($answer) \($args | join(" "))"' $profile |
	awk 'NR == FNR { n[$1] = $2; next } FNR == 1 { print 1 } $1 in n { $1 = n[$1]; print }' "$dir/table" - >"$dir/rules"
echo 0 >"$dir/all"
number() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' "$dir/table"
}
probe() { # RULES CALL...: numbers of errors
	probe_rules=$1
	shift
	"$dir/confine" "$dir/$probe_rules" --probe "$@" 2>&1 | cut -d' ' -f2 | paste -sd' '
}

# --- the pod --------------------------------------------------------------------------------------
# What conf/deploy asks for: another user than root, no capability, no new privileges.
as_pod='setpriv --no-new-privs --inh-caps=-all --ambient-caps=-all'
user=$(id -u)
if [ "$user" = 0 ]; then
	user=65532
	as_pod="$as_pod --bounding-set=-all --reuid=$user --regid=$user --clear-groups"
fi
pod() { # COMMAND...
	# shellcheck disable=SC2086
	$as_pod "$dir/confine" "$dir/rules" "$@"
}
is "$(probe all "$(number ptrace)")" 0 "without the profile ptrace is there"
is "$(probe rules "$(number ptrace)" "$(number mount)" "$(number bpf)" "$(number keyctl)" "$(number unshare)" "$(number perf_event_open)")" \
	"1 1 1 1 1 1" "ptrace, mount, bpf, keyctl, unshare and perf_event_open are refused (EPERM)"
is "$(probe rules "$(number socket) 40" "$(number socket) 17" "$(number socket) 38")" "1 1 1" \
	"so are sockets but of IP, of this host and of netlink: vsock, packet, alg"
is "$(probe rules "$(number clone) 268435456" "$(number clone) 131072" "$(number clone3)")" "1 1 38" \
	"and new namespaces; clone3, whose flags no filter sees, is not there (ENOSYS), so that libraries take clone"
# shellcheck disable=SC2046
pod --probe $(awk 'NR == FNR { named[$1] = 1; next } !($1 in named) { print $2 }' "$dir/names" "$dir/table") >"$dir/probed" 2>&1
awk 'NF != 2 || $2 != 1' "$dir/probed" >"$dir/out"
[ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/probed")" -gt 100 ]
ok $? "all other calls of this machine are refused ($(wc -l <"$dir/probed"))"

mkdir "$dir/b"
for file in "$B"/*; do
	ln -s "$(realpath "$file")" "$dir/b/"
done
rm "$dir/b/multikueued"
cat >"$dir/b/multikueued" <<-END
	#!/bin/sh
	exec $as_pod $dir/confine $dir/rules $(realpath "$B")/multikueued "\$@"
	END
chmod 755 "$dir/b/multikueued"
daemon=$(realpath "$B")/multikueued
B=$dir/b

# A program for credentials, of those that a shell starts.
cat >"$dir/give" <<-'END'
	#!/bin/sh
	grep -E '^(Uid|CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\t ' ' ' >"$(dirname "$0")/given/status"
	date -u | cat >/dev/null
	printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"lent"}}\n'
	END
chmod 755 "$dir/give"
mkdir -m 777 "$dir/given"
FLEET_MORE="  clusterProfile:
    accessProviders:
    - {name: corp, execConfig: {command: $dir/give, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}
featureGates: {MultiKueueClusterProfile: true}"
fleet_kubesim --run-ms 200-400 && chmod -R a+rX "$dir/clusters" && fleet_plugins
api mgr POST /kubesim/crd '{"group":"multicluster.x-k8s.io","version":"v1alpha1","plural":"clusterprofiles","kind":"ClusterProfile"}' >/dev/null
fleet_manager m
ok $? "the daemon starts"
status() { # KEY
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$MANAGER_PID/status" | tr '\t' ' '
}
is "$(status Uid)" "$user $user $user $user" "it is not root"
is "$(status CapEff) $(status CapPrm) $(status NoNewPrivs) $(status Seccomp)" "0000000000000000 0000000000000000 1 2" \
	"it has no capability, gets no privilege, and the filter"
is "$(awk '/^Max open files/ { print $4 == $5 || $4 == 1048576 } /^Max core file size/ { print $5 + $6 }' "/proc/$MANAGER_PID/limits" | sort | paste -sd' ')" \
	"0 1" "descriptors up to the limit that it was given, and no core"
fleet_demo --jobs 6 --limit 60
ok $? "six jobs run on three workers"

PROFILES=/apis/multicluster.x-k8s.io/v1alpha1/namespaces/kueue-system/clusterprofiles
api w1 POST /kubesim/token '{"token":"lent"}' >/dev/null
api mgr POST $PROFILES '{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ClusterProfile","metadata":{"name":"p1",
	"namespace":"kueue-system"},"spec":{}}' >/dev/null
api mgr PATCH $PROFILES/p1/status '{"status":{"accessProviders":[{"name":"corp","cluster":{"server":"'"$(field w1-token.kubeconfig server)"'",
	"certificate-authority-data":"'"$(field w1-token.kubeconfig certificate-authority-data)"'"}}]}}' >/dev/null
for c in w2 w3; do
	api mgr DELETE "${CLUSTER%w1}$c" >/dev/null
done
api mgr PATCH $CLUSTER '{"spec":{"clusterSource":{"kubeConfig":null,"clusterProfileRef":{"name":"p1"}}}}' >/dev/null
wait_for 60 test -s "$dir/given/status"
ok $? "a program for credentials runs"
is "$(cat "$dir/given/status")" "Uid: $user $user $user $user
CapEff: 0000000000000000
NoNewPrivs: 1
Seccomp: 2" "under the same limits"
wait_for 60 reason_is Active
submit mgr lent 300 "$OURS" >/dev/null
wait_for 60 complete lent
ok $? "and a job runs with what it gave"

# The helpers of clouds are programs in Go and Python.
if command -v python3 >/dev/null 2>&1; then
	# Not by the name in PATH, which may be a script of root's.
	python=$(python3 -c 'import sys; print(sys.executable)')
	pod "$python" -c 'import sys' 2>/dev/null || python=/usr/bin/python3
fi
if [ -x "${python:-}" ]; then
	TMPDIR=/tmp pod "$python" -c '
import os, socket, sqlite3, ssl, subprocess, tempfile, threading
thread = threading.Thread(target=ssl.create_default_context)
thread.start()
thread.join()
with tempfile.TemporaryDirectory() as folder:
    base = sqlite3.connect(os.path.join(folder, "tokens"))
    base.execute("create table t (a)")
    base.commit()
    base.close()
    assert subprocess.check_output(["date"])
socket.create_server(("127.0.0.1", 0)).close()' >"$dir/out" 2>&1
	ok $? "Python runs: threads, TLS, files, sockets, programs"
else
	skip "Python runs: threads, TLS, files, sockets, programs" "no python3 SKIP-CI-OK"
fi
if [ -x build/helm/bin/helm ]; then
	HOME=$dir/given pod build/helm/bin/helm template multikueued conf/helm >"$dir/out" 2>&1
	ok $? "so does a program in Go"
else
	skip "so does a program in Go" "no build/helm/bin/helm, which t/package/helm.t makes SKIP-CI-OK"
fi

# --- memory ---------------------------------------------------------------------------------------
# t/unit/base_torture.c and others fail each allocation in turn; here the kernel does.
mib=48
code=0
while [ $mib -gt 2 ] && [ $code -lt 126 ]; do
	pod prlimit --as=$((mib * 1048576)) "$daemon" --check-config "$dir/m.yaml" >"$dir/said" 2>&1
	code=$?
	echo "$mib MiB, status $code: $(tail -n 1 "$dir/said" | cut -c1-100)"
	mib=$((mib - 1))
done >"$dir/memory"
awk '{ sub(/:/, "", $4) } $4 > 127' "$dir/memory" >"$dir/out"
[ ! -s "$dir/out" ] && [ $code = 127 ]
ok $? "less and less memory, until the program cannot be loaded: a check of the configuration ends by no signal"
tail -n 4 "$dir/memory" | sed 's/^/#   /'

kill "$MANAGER_PID"
wait "$MANAGER_PID"
is $? 0 "the daemon ends well"
is "$(grep -c '"level":"error"' "$dir/m.log")" 0 "without an error in its log"
notes "$dir/demo.out" "$dir/m.log"
done_testing
