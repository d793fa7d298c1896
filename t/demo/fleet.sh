# SPDX-License-Identifier: Apache-2.0
# A simulated fleet and its multikueued, for conf/demo, t/bench/run and t/integration. Sourced by
# sh, not run. B is the build folder, dir a folder of the caller's own. What is started here is
# known by its process id alone.
# shellcheck shell=sh disable=SC2154

FLEET_PIDS=

# shellcheck source=t/lib/wait.sh
. t/lib/wait.sh

# kubesim with a manager and three workers: fleet_kubesim [OPTIONS...]. FLEET_SIM:
# more options. Sets KUBESIM_PID.
fleet_kubesim() {
	rm -f "$dir/ready"
	"$B/kubesim" --dir "$dir/clusters" --setup demo --ready-file "$dir/ready" ${FLEET_SIM:-} "$@" >"$dir/kubesim.out" 2>&1 &
	KUBESIM_PID=$!
	FLEET_PIDS="$FLEET_PIDS $KUBESIM_PID"
	wait_for "${FLEET_WAIT:-20}" fleet_ready_or_dead && test -s "$dir/ready" && return
	cat "$dir/kubesim.out" >&2
	return 1
}

fleet_ready_or_dead() {
	test -s "$dir/ready" || ! kill -0 "$KUBESIM_PID"
}

# The loader wants plugins that no other user can write, in folders that no other user
# can write (sticky ones aside).
fleet_plugins() {
	mkdir -p "$dir/plugins"
	chmod 755 "$dir" "$dir/plugins"
	install -m 755 "$B"/plugins/*.so "$dir/plugins"
}

# A configuration that listens on port $1: fleet_config PORT [LEASE RENEW RETRY]. FLEET_MORE: lines
# at its end, which are in the section multiKueue when indented by two blanks.
fleet_config() {
	cat <<-END
		apiVersion: config.kueue.x-k8s.io/v1beta2
		kind: Configuration
		namespace: kueue-system
		health:
		  healthProbeBindAddress: 127.0.0.1:$1
		metrics:
		  bindAddress: 127.0.0.1:$1
		leaderElection:
		  leaderElect: ${FLEET_ELECT:-true}
		  leaseDuration: ${2:-15s}
		  renewDeadline: ${3:-10s}
		  retryPeriod: ${4:-2s}
		multiKueue:
		  plugins:
		    directory: $dir/plugins
		  network:
		    allowLoopback: true
		    transport: ${FLEET_TRANSPORT:-auto}
	END
	printf '%s\n' "${FLEET_MORE:-}" # more of the section multiKueue, and more sections
}

# Starts multikueued as NAME: fleet_manager NAME [LEASE RENEW RETRY]. Sets MANAGER_PID and
# MANAGER_PORT; its log is $dir/NAME.log. A taken port is tried again with the next one,
# and the log says nothing of it.
fleet_manager() {
	fleet_name=$1
	shift
	fleet_try=0
	fleet_size=$(cat "$dir/$fleet_name.log" 2>/dev/null | wc -c)
	while [ $fleet_try -lt 20 ]; do
		MANAGER_PORT=$((10000 + ($$ * 7 + fleet_try * 131 + ${MANAGER_PORT:-0}) % 20000))
		fleet_try=$((fleet_try + 1))
		fleet_config "$MANAGER_PORT" "$@" >"$dir/$fleet_name.yaml"
		truncate -s "$fleet_size" "$dir/$fleet_name.log"
		"$B/multikueued" --config "$dir/$fleet_name.yaml" --kubeconfig "$dir/clusters/mgr.kubeconfig" \
			>>"$dir/$fleet_name.log" 2>&1 &
		MANAGER_PID=$!
		FLEET_PIDS="$FLEET_PIDS $MANAGER_PID"
		wait_for 10 fleet_answers_or_dead
		kill -0 $MANAGER_PID 2>/dev/null && return
	done
	tail -n 5 "$dir/$fleet_name.log" >&2
	return 1
}

# The log may have lines of a daemon before.
fleet_answers_or_dead() {
	! kill -0 "$MANAGER_PID" || tail -c "+$((fleet_size + 1))" "$dir/$fleet_name.log" | grep -q '"msg":"started"'
}

# Jobs through the fleet: fleet_demo OPTIONS of the client... What it said is told when it fails.
fleet_demo() {
	"$B/demo" --dir "$dir/clusters" --quiet "$@" >"$dir/demo.out" 2>&1 && return
	cat "$dir/demo.out" >&2
	return 1
}

# Memory of multikueued in KiB: fleet_memory VmRSS (resident now) or VmHWM (the most that ever was).
fleet_memory() {
	awk -v k="$1:" '$1 == k { print $2 }' "/proc/$MANAGER_PID/status"
}

# The number of a process that ended and was waited for may be a stranger's by
# now: only a child of ours is ours.
fleet_is_ours() {
	[ "$(ps -o ppid= -p "$1" | tr -d ' ')" = "$$" ]
}

# Ends what was started, the youngest first, and waits for it.
fleet_stop() {
	fleet_reverse=
	for fleet_pid in $FLEET_PIDS; do
		! fleet_is_ours "$fleet_pid" || fleet_reverse="$fleet_pid $fleet_reverse"
	done
	for fleet_pid in $fleet_reverse; do
		kill -CONT "$fleet_pid" 2>/dev/null
		kill "$fleet_pid" 2>/dev/null
	done
	for fleet_pid in $fleet_reverse; do
		wait "$fleet_pid" 2>/dev/null
	done
	FLEET_PIDS=
}
