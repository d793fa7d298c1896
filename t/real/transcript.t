#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubesim answers as kube-apiserver does: transcript.yaml is played against both. What
# kube-apiserver said once is in transcript.golden; it must say it again (UPDATE=1 writes the file
# anew). Then each step of kubesim is a result. Steps that are known to differ stand in
# transcript.differs as "NAME: reason"; one that is listed and does not differ is a failure too, so
# that the list can only become shorter.
# planes: bare
. "$(dirname "$0")/lib.sh"

out=$root/build/real

# play NAME KUBECONFIG
play()
{
	"$FLEET" transcript --kubeconfig "$2" --script "$here/transcript.yaml" >"$WORK/$1.out" 2>"$WORK/err"
	ok $? "$1 answers every step" || bail "$(cat "$WORK/err")"
	is "$(grep -c '^## ' "$WORK/$1.out")" "$(grep -c '^- name:' "$here/transcript.yaml")" \
		"$1: no step is left out"
	cp "$WORK/$1.out" "$out/transcript.$1"
}

# section FILE STEP: what one step printed.
section()
{
	awk -v want="## $2" '/^## / {in_it = $0 == want} in_it' "$1"
}

play kube-apiserver "$MK_REAL_DIR/bare/kubeconfig"
# Nothing here would ever take the finalizers off; with them, crd.t could not remove the kinds.
held()
{
	k bare get workloads -A -o 'jsonpath={range .items[?(@.metadata.finalizers)]}{.metadata.namespace} {.metadata.name}{"\n"}{end}'
}
held | while read -r ns name; do
	k bare -n "$ns" patch workload "$name" --type=merge -p '{"metadata":{"finalizers":null}}' </dev/null
done >"$WORK/released" 2>&1
is "$(held 2>&1)" "" "no Workload is held by a finalizer" || diag "$(cat "$WORK/released")"
[ -z "${UPDATE:-}" ] || cp "$WORK/kube-apiserver.out" "$here/transcript.golden"
diff -u "$here/transcript.golden" "$WORK/kube-apiserver.out" >"$WORK/changes"
ok $? "kube-apiserver says what it said before" || diag "$(cat "$WORK/changes")"

if [ ! -x "$KUBESIM" ]; then
	[ "${CI:-}" != true ] || bail "$KUBESIM is not built"
	diag "kubesim is not built: there is nothing to compare with"
	done_testing
fi
kubesim_start
play kubesim "$kubesim_config"

grep -v -e '^#' -e '^$' "$here/transcript.differs" | cut -d: -f1 >"$WORK/differs"
sed -n 's/^- name: //p' "$here/transcript.yaml" >"$WORK/names"
while read -r name; do
	section "$WORK/kube-apiserver.out" "$name" >"$WORK/a"
	section "$WORK/kubesim.out" "$name" >"$WORK/b"
	known=$(grep -c -x -F "$name" "$WORK/differs")
	if cmp -s "$WORK/a" "$WORK/b"; then
		is "$known" 0 "same: $name"
	elif [ "$known" -gt 0 ]; then
		ok 0 "differs as known: $name"
	else
		ok 1 "same: $name"
		diff "$WORK/a" "$WORK/b" | sed -n 's/^</# kube-apiserver:/p; s/^>/# kubesim:       /p'
	fi
done <"$WORK/names"
done_testing
