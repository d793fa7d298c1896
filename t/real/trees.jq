# SPDX-License-Identifier: Apache-2.0
# What must hold while queue trees change, on what watches saw (t/real/trees_change.t). Input: the
# events of Cohorts and ClusterQueues, then lines of `fleet record`; all are of one API server, whose
# resourceVersions are an order. $windows: pairs of resourceVersions between which a change of the
# tree was under way; $prefix: how names of the tree begin. Prints a line for each breach:
#   - a limit is above what it was before the change and above what it is afterwards;
#   - a Workload is admitted beyond the maximum of a queue above it, while a change is under way
#     beyond both.
# With --argjson tell 1 it prints how much was seen. Amounts are of cpu, in thousandths.

def amount: if . == null then null else tostring |
	if endswith("m") then .[:-1] | tonumber else tonumber * 1000 end end;

def limit_event: .object as $o | {rv: ($o.metadata.resourceVersion | tonumber), key: "\($o.kind)/\($o.metadata.name)",
	node: (if .type == "DELETED" then null else
		($o.spec.resourceGroups[0].flavors[0].resources[0] // {}) as $r |
		{own: ($r.nominalQuota | amount // 0), borrowing: ($r.borrowingLimit | amount),
		 up: (($o.spec.cohortName // $o.spec.parentName) | if . == null then null else "Cohort/" + . end)} end)};

# A ClusterQueue in no Cohort stands for an inner queue, or for nothing.
def state($events; $rv): reduce ($events[] | select(.rv <= $rv)) as $e ({}; .[$e.key] = $e.node) |
	with_entries(select(.value != null and (.value.up != null or (.key | startswith("Cohort/")))));

def whole($s; $key): $s[$key].own + ([$s | to_entries[] | select(.value.up == $key) | whole($s; .key)] | add // 0);
def infinite: 1e18;
def most($s; $key): if $s[$key] == null then 0 else
	whole($s; $key) + (if $s[$key].up == null then 0 else $s[$key].borrowing // infinite end) end;
def wholes($s; $key): if $s[$key] == null then 0 else whole($s; $key) end;

def limits_held($events):
	$windows[] | . as [$from, $to] | state($events; $from) as $was | state($events; $to) as $is |
	($events[] | select(.rv > $from and .rv <= $to)) as $e | state($events; $e.rv) as $s | ($s | keys[]) as $key |
	if whole($s; $key) > ([wholes($was; $key), wholes($is; $key)] | max) or
	   most($s; $key) > ([most($was; $key), most($is; $key)] | max)
	then "\($e.rv): after the write of \($e.key) \($key) has \(whole($s; $key)), at most \(most($s; $key)); before the change \(wholes($was; $key)) and \(most($was; $key)), afterwards \(wholes($is; $key)) and \(most($is; $key))"
	else empty end;

# What a Workload holds: pods that have ended gave theirs back.
def pods_left($o): . as $set | ($set.count // 1) as $n | ([$o.status.reclaimablePods[]? | select(.name == $set.name) | .count] | add // 0) as $gone |
	if $n > 0 then ([$n - $gone, 0] | max) / $n else 0 end;
def work_event: .object as $o | {rv: ($o.metadata.resourceVersion | tonumber), name: $o.metadata.name,
	queue: $o.status.admission.clusterQueue, use: ([$o.status.admission.podSetAssignments[]? | (.resourceUsage.cpu | amount // 0) * pods_left($o)] | add // 0),
	holds: (.type != "DELETED" and $o.metadata.deletionTimestamp == null and $o.status.admission != null and
		([$o.status.conditions[]? | select(.type == "Finished" and .status == "True")] | length) == 0)};

def path($s; $key): $key, (if $s[$key].up then path($s; $s[$key].up) else empty end);
def below($s; $queue; $key): any(path($s; "ClusterQueue/" + $queue); . == $key);

def admissions($events; $work):
	foreach $work[] as $e ({held: {}, new: false};
		.new = ($e.holds and .held[$e.name] == null) |
		if $e.holds then .held[$e.name] = $e else del(.held[$e.name]) end;
		if .new and $e.queue != null and ($e.queue | startswith($prefix)) then {e: $e, held: [.held[]]} else empty end);

def admitted_within($events; $work):
	admissions($events; $work) as {$e, $held} | state($events; $e.rv) as $s |
	([$windows[] | select(.[0] < $e.rv and $e.rv <= .[1])] as $w | if ($w | length) > 0 then [$w[][]] else [$e.rv] end |
		map(state($events; .))) as $states |
	path($s; "ClusterQueue/" + $e.queue) as $key |
	([$held[] | select(below($s; .queue; $key)) | .use] | add) as $use |
	([$states[] | most(.; $key)] | max) as $max |
	if $use > $max then "\($e.rv): \($e.name) is admitted in \($e.queue): \($key) uses \($use) of at most \($max)" else empty end;

[inputs] |
(map(select(.plane == null and .type != "READY" and (.object.metadata.name | startswith($prefix))) | limit_event) |
	sort_by(.rv) | unique_by(.rv)) as $events |
(map(select(.plane == "mgr" and .object.kind == "Workload") | work_event) | sort_by(.rv)) as $work |
if $tell == 1 then "\($windows | length) changes, \([$windows[] as [$from, $to] | $events[] | select(.rv > $from and .rv <= $to)] | length) events of limits, \([admissions($events; $work)] | length) admissions"
else limits_held($events), admitted_within($events; $work) end
