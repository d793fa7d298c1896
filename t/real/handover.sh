# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests that hand a manager over from Kueue's own MultiKueue to multikueued and
# back. Source it after lib.sh; a test names gate_off in what it undoes.
# shellcheck shell=sh

# gate VALUE: the manager's Kueue starts again with its feature gate MultiKueue set to it.
gate()
{
	"$FLEET" kill --plane mgr --process kueue 2>/dev/null
	sed -i "s/MultiKueue=[a-z]*/MultiKueue=$1/" "$MK_REAL_DIR/mgr/kueue.cmdline"
	restarted=$(now)
	"$FLEET" start --plane mgr --process kueue
}
gate_off()
{
	gate false
}

# Does Kueue follow both workers? It looks at a Workload once, and not again when a
# worker is connected after that.
dispatches()
{
	for d_plane in w1 w2; do
		"$FLEET" audit --plane $d_plane --user dispatcher --since "$restarted" | grep -q ' watch workloads ' || return 0
	done
	echo yes
}

# by WHO: Kueue connects with what it needs, multikueued with what conf/rbac gives it.
by()
{
	for b_plane in w1 w2; do
		CREDENTIALS=$1 cluster $b_plane
	done
}

# kueue_takes [AGAIN]: the manager's Kueue does the work of MultiKueue, and follows both workers.
kueue_takes()
{
	gate true
	must ok "the manager's Kueue has its gate${1:+ $1}" kueue_back mgr
	must yes "and follows both workers${1:+ $1}" dispatches
}
