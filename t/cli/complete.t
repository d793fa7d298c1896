#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kubectl_complete-multikueue: what may follow on a command line. kubectl is played by a script that
# notes how it was called.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. t/integration/tap.sh
need jq
ln -s "$(realpath "$B/kubectl-multikueue")" "$tmp/kubectl-multikueue"
cp conf/kubectl_complete-multikueue "$tmp"
cat >"$tmp/kubectl" <<END
#!/bin/sh
printf "%s\\n" "\$*" >>"$tmp/asked"
case "\$*" in
*"get multikueueclusters.kueue.x-k8s.io "*) printf 'east\nwest\n' ;;
*"get multikueueconfigs.kueue.x-k8s.io "*) printf 'workers\n' ;;
*"get clusterqueues.kueue.x-k8s.io "*) printf 'main\n' ;;
*"get workloads.kueue.x-k8s.io "*) printf 'job-train-1b2c3 Job train\njobset-tune-4d5e6 JobSet tune\nalone  \n' ;;
*"get namespaces "*) printf 'team-a\nteam-b\n' ;;
*get-contexts*) printf 'manager\nworker\n' ;;
*) exit 1 ;;
esac
END
chmod +x "$tmp/kubectl"
complete() { # WORDS...: all that is printed
	PATH="$tmp:$PATH" kubectl_complete-multikueue "$@" 2>&1
}
words() { # WORDS...: what is offered, without descriptions, on one line
	complete "$@" | cut -f1 | paste -sd ' '
}
asked() { # PATTERN: since the file was emptied
	grep -q -- "$1" "$tmp/asked"
	ok $? "$2" || sed 's/^/# /' "$tmp/asked"
}

# Commands and options.
complete '' >"$tmp/all"
"$B/kubectl-multikueue" --help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }' >"$tmp/help"
is "$(sed '$d' "$tmp/all" | cut -f1)" "$(cat "$tmp/help")" "all commands that help shows, no others"
is "$(words stat)" "status :4" "a command"
is "$(complete stat | head -n 1 | cut -f2)" "$("$B/kubectl-multikueue" --help | sed -n 's/^  status  *//p' | head -n 1)" "... with its summary"
is "$(words tree sh)" "show :4" "a command of a group"
is "$(words tree top --)" "--filename --context --kubeconfig --watch --no-headers --output --help :4" "... and its options"
is "$(words tree show --context '')" "manager worker :4" "... whose cluster is one of the contexts"
is "$(words help tree sh)" "show :4" "... behind help"
is "$(words tre sh)" ":4" "a command that there is not"
is "$(words worker '')" "add rotate remove :4" "worker"
is "$(words why --con)" "--context :4" "an option"
is "$(words drain west -)" "--evict --timeout --reason --server --manager-namespace --context --kubeconfig --help :4" "options"
is "$(words drain west --evict --timeout 5m --reason=disks --)" "--server --manager-namespace --context --kubeconfig --help :4" \
	"... but those that were given"
is "$(words doctor --cluster west --c)" "--cluster --context :4" "... unless they may be given again"
is "$(words doctor -- --c)" ":4" "none behind --"
is "$(words tree show extra --x)" ":4" "an option that there is not"

# Words and files.
is "$(words get '')" "workloads clusters plugins :4" "what get shows"
is "$(words get clusters '')" ":4" "... and nothing behind that"
is "$(words top '')" "queues workers :4" "what top shows"
is "$(words top --sort-by=w)" "waiting won :4" "... in which order"
is "$(words top workers w)" "west :4" "... and names of that"
is "$(words top queues main '')" "main :4" "... of which there may be several"
is "$(words get plugins -o '')" "json name text wide yaml :4" "formats"
is "$(words status --output=)" "json text yaml :4" "... those that the command has"
is "$(words get workloads --phase Wo)" "Won :4" "a phase"
is "$(complete get workloads --phase '' | sed '$d' | sort)" \
	"$(jq -r '."$defs".Workload.properties.phase.enum[]' docs/visibility.schema.json | sort)" "the phases of the schema"
is "$(complete doctor --only '' | sed '$d' | sort)" \
	"$("$B/kubectl-multikueue" doctor --list -o json | jq -r '.items[].group' | sort -u)" "the groups of doctor"
is "$(words tree show -f '')" ":0" "files are left to the shell"
is "$(words adapter test widget.yaml '')" ":0" "... each of several"
is "$(words doctor --worker-rbac=r)" ":0" "... behind ="
is "$(words drain west --timeout '')" ":4" "no files where a duration is meant"

# Names.
is "$(words why --context '')" "manager worker :4" "contexts"
is "$(words worker add w)" "worker :4" "... of a cluster that becomes a worker"
is "$(words cordon '')" "east west :4" "clusters"
is "$(words drain w)" "west :4" "... that begin so"
is "$(words uncordon west '')" ":4" "... but only one"
is "$(words get workloads -n team-b --cluster w)" "west :4" "... as the value of an option"
is "$(words doctor --cluster=e)" "east :4" "... behind =, which the shell keeps"
is "$(words get workloads --queue '')" "main :4" "ClusterQueues"
is "$(words get workloads -n '')" "team-a team-b :4" "namespaces"
: >"$tmp/asked"
is "$(words why --context east -n team-a job-)" "job-train-1b2c3 :4" "Workloads"
asked '^--context east get workloads.kueue.x-k8s.io .* --namespace team-a$' "... of the context and namespace that were given"
: >"$tmp/asked"
is "$(words events --context=east -A '')" "job-train-1b2c3 train jobset-tune-4d5e6 tune alone :4" "... and their jobs"
asked '^--context east get workloads.kueue.x-k8s.io .* --all-namespaces$' "... of all namespaces"
is "$(words why jobset/)" "jobset/tune :4" "jobs of a kind"
is "$(words why workload/j)" "workload/job-train-1b2c3 workload/jobset-tune-4d5e6 :4" "Workloads by their kind"
: >"$tmp/asked"
is "$(words worker add west --manager-context hub --config '')" "workers :4" "MultiKueueConfigs"
asked ' --context hub$' "... of the manager"

printf '#!/bin/sh\nprintf "east\\n"\nexit 1\n' >"$tmp/kubectl"
is "$(words cordon '')" ":4" "a server that does not answer is no error"
printf '#!/bin/sh\nexec sleep 60\n' >"$tmp/kubectl"
is "$(words cordon '')" ":4" "... nor one that takes too long"
rm "$tmp/kubectl"
is "$(PATH="$tmp" "$tmp/kubectl-multikueue" __complete cordon '' 2>&1)" ":4" "... nor that there is no kubectl"
printf '#!/bin/sh\nprintf "\\033[2Jeast\\nwe\\tst\\n"\n' >"$tmp/kubectl"
chmod +x "$tmp/kubectl"
is "$(complete why --context '' | head -n 1)" "?[2Jeast" "what would steer a terminal is made harmless"
done_testing
