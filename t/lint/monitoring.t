#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# conf/monitoring asks for what there is: metrics that the daemon registers, with labels of
# docs/metrics.md, rules that the engine has, sections of docs/operations.md. Both files of rules
# say the same; UPDATE=1 writes prometheusrule.yaml anew. promtool checks the rules and runs
# t/lint/monitoring/alerts.yaml: what happens, and all alerts that fire then.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh
need jq
dir=conf/monitoring
cases=t/lint/monitoring/alerts.yaml
# Labels that Prometheus adds to what it reads, and the one of its buckets.
target='instance job le namespace'

# --- one source -----------------------------------------------------------------------------------

{
	cat <<-END
		# SPDX-License-Identifier: Apache-2.0
		# The rules of rules.yaml for the Prometheus operator. Written by UPDATE=1 t/lint/monitoring.t.
		apiVersion: monitoring.coreos.com/v1
		kind: PrometheusRule
		metadata:
		  name: multikueued
		  namespace: kueue-system
		  labels: {app.kubernetes.io/name: multikueued}
		spec:
	END
	grep -v '^#' "$dir/rules.yaml" | sed 's/^/  /'
} >"$tmp/wrapped"
[ -z "${UPDATE:-}" ] || cp "$tmp/wrapped" "$dir/prometheusrule.yaml"
diff "$tmp/wrapped" "$dir/prometheusrule.yaml" >"$tmp/findings" 2>&1
check "both files of rules say the same"

# --- what there is --------------------------------------------------------------------------------

# A registration: metric_counter("name", "help ...", "label", ..., NULL)
cat core/*/*.c | tr '\n\t' '  ' | sed 's/metric_\(counter\|gauge\|histogram\)(/\n\1 /g' |
	sed -nE 's/^(counter|gauge|histogram) +"([a-z_]+)".*/\2 \1/p' >"$tmp/registered"
# ... or a row of the table of core/serve/requests.c: {"counter", "name", "help", {"label", ...}}
echo >>"$tmp/registered"
tr '\n\t' '  ' <core/serve/requests.c | sed 's/= {"/\n"/g' |
	sed -nE 's/^"(counter|gauge|histogram)", +"([a-z_]+)".*/\2 \1/p' >>"$tmp/registered"
# name, kind, labels; the three series of a histogram by their own names
sed -nE 's/^\| `([a-z_]+)` \| ([a-z]+) \| ([^|]*)\|.*/\1 \2 \3/p' docs/metrics.md | sed 's/[`,]//g' |
	awk '$2 != "histogram" { print; next }
		{ n = $1; $1 = ""; print n "_bucket" $0; print n "_sum" $0; print n "_count" $0 }' >"$tmp/known"
sed -n '/^## Rules$/,$s/^| `\([^`]*\)` |.*/\1/p' docs/metrics.md | sort >"$tmp/engine"

# One expression to a line, "WHERE<tab>EXPRESSION<tab>LABELS"; its words use the LABELS.
awk '
	function flush() { if (alert) print alert "\t" expr "\t" used; alert = expr = used = "" }
	/^  - alert: / { flush(); alert = $3; next }
	/^    expr: \|-$/ { block = 1; next }
	/^    expr: / { sub(/^    expr: /, ""); expr = $0; next }
	block && /^      / { sub(/^ */, ""); expr = expr " " $0; next }
	{ block = 0 }
	{ while (match($0, /\$labels\.[a-z_]+/)) { used = used " " substr($0, RSTART + 8, RLENGTH - 8); $0 = substr($0, RSTART + RLENGTH) } }
	END { flush() }' "$dir/rules.yaml" >"$tmp/asked"
alerts=$(wc -l <"$tmp/asked")
jq -r '.panels[] | .title as $t | .targets[]? |
	[$t, .expr, ([.legendFormat | scan("{{([a-z_]+)}}") | .[]] | join(" "))] | @tsv' "$dir/dashboard.json" >"$tmp/panels"
jq -r '.templating.list[] | select(.type == "query") |
	[.name, (.definition | sub("^label_values\\((?<m>.*), (?<l>[a-z_]+)\\)$"; "sum by (\(.l)) (\(.m))")), ""] | @tsv' \
	"$dir/dashboard.json" >>"$tmp/panels"
cat "$tmp/panels" >>"$tmp/asked"
panels=$(wc -l <"$tmp/panels")

awk -F'\t' -v registered="$tmp/registered" -v known="$tmp/known" -v engine="$tmp/engine" -v target="$target" '
	function bad(what) { print where ": " what }
	BEGIN {
		while ((getline line <registered) > 0) { split(line, f, " "); there[f[1]] = 1 }
		while ((getline line <engine) > 0) rules[line] = 1
		n = split(target, f, " ")
		for (i = 1; i <= n; i++) added[f[i]] = 1
		while ((getline line <known) > 0) {
			n = split(line, f, " ")
			base = f[1]
			if (f[2] == "histogram") sub(/_(bucket|sum|count)$/, "", base)
			if (!(base in there)) continue
			kind[f[1]] = f[2]
			for (i = 3; i <= n; i++) has[f[1], f[i]] = 1
		}
	}
	{
		where = $1; rest = $2; listed = ""; named = 0
		split("", own)
		while (match(rest, /(multikueue|process)_[a-z_]+/)) {
			name = substr(rest, RSTART, RLENGTH)
			before = substr(rest, 1, RSTART - 1)
			rest = substr(rest, RSTART + RLENGTH)
			named++
			if (!(name in kind)) { bad(name " is no metric"); continue }
			if (kind[name] != "gauge" && before !~ /(rate|increase)\($/) bad(name " grows without end: rate or increase")
			if (kind[name] == "gauge" && before ~ /(rate|increase)\($/) bad(name " is a gauge, not to be counted by rate or increase")
			for (k in has) { split(k, f, SUBSEP); if (f[1] == name) own[f[2]] = 1 }
			if (match(rest, /^\{[^}]*\}/)) {
				inside = substr(rest, 2, RLENGTH - 2)
				rest = substr(rest, RLENGTH + 1)
				while (match(inside, /[a-z_]+(=~|!~|!=|=)"[^"]*"/)) {
					one = substr(inside, RSTART, RLENGTH)
					inside = substr(inside, RSTART + RLENGTH)
					label = one; sub(/[=!].*/, "", label)
					value = one; sub(/^[^"]*"/, "", value); sub(/"$/, "", value)
					if (!(label in added) && !((name, label) in has)) bad(name " has no label " label)
					if (name == "multikueue_rules_total" && label == "rule") {
						n = split(value, f, "|")
						for (i = 1; i <= n; i++) if (!(f[i] in rules)) bad(f[i] " is no rule of the engine")
					}
				}
			}
		}
		if (!named) bad("names no metric")
		rest = $2
		while (match(rest, /(by|on|without) \([^)]*\)/)) {
			one = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			by = one ~ /^by/
			sub(/^[a-z]+ \(/, "", one); sub(/\)$/, "", one)
			n = split(one, f, /, */)
			for (i = 1; i <= n; i++) {
				if (!(f[i] in added) && !(f[i] in own)) bad("no metric here has the label " f[i])
				if (by) listed = listed " " f[i] " "
			}
		}
		n = split($3, f, " ")
		for (i = 1; i <= n; i++) if (index(listed, " " f[i] " ") == 0) bad("its words use " f[i] ", which is not what it groups by")
	}' "$tmp/asked" >"$tmp/findings"
[ "$alerts" -ge 20 ] || echo "$alerts alerts: has the form of the rules changed?" >>"$tmp/findings"
[ "$panels" -ge 20 ] || echo "$panels expressions: has the form of the dashboard changed?" >>"$tmp/findings"
check "alerts and panels ask for metrics, labels and rules that there are"

# --- alerts and their sections --------------------------------------------------------------------

head -n "$alerts" "$tmp/asked" | cut -f1 | sort >"$tmp/alerts"
{
	uniq -d "$tmp/alerts" | sed 's/$/ is there twice/'
	awk '
		function flush() {
			if (alert && (!s || !d || !v || url != "docs/operations.md#" tolower(alert)))
				print alert ": severity critical or warning, summary, description, runbook_url of its own section"
			s = d = v = 0; url = ""
		}
		/^  - alert: / { flush(); alert = $3 }
		/^    labels: \{severity: (critical|warning)\}$/ { v = 1 }
		/^      summary: ./ { s = 1 }
		/^      description: ./ { d = 1 }
		/^      runbook_url: / { url = $2 }
		END { flush() }' "$dir/rules.yaml"
} >"$tmp/findings"
check "each alert has a severity, its words and a section to go to"

sed -n '/^## Alerts$/,/^## /s/^### //p' docs/operations.md | sort >"$tmp/sections"
{
	comm -23 "$tmp/alerts" "$tmp/sections" | sed 's/$/ has no section/'
	comm -13 "$tmp/alerts" "$tmp/sections" | sed 's/$/ is a section without an alert/'
	sed -n '/^## Alerts$/,/^## /p' docs/operations.md | awk '
		function flush() { if (alert && (!look || !act)) print alert ": no **Look at** or no **Do**" }
		/^##/ { flush(); alert = /^### / ? $2 : ""; look = act = 0 }
		/^\*\*Look at\*\* / { look = 1 }
		/^\*\*Do\*\* / { act = 1 }
		END { flush() }'
} >"$tmp/findings"
check "docs/operations.md: what each alert means, what to look at, what to do"

limit=$(sed -n 's/^ *limits: {memory: \([0-9]*\)Gi}$/\1/p' conf/deploy/deployment.yaml)
{
	grep -q " 0\.85 \* $((${limit:-0} * 1024 * 1024 * 1024))\$" "$dir/rules.yaml" || echo "not the ${limit:-missing} GiB of deployment.yaml"
} >"$tmp/findings"
check "the alert on memory knows the limit of the Deployment"

# --- promtool -------------------------------------------------------------------------------------

grep -o 'alertname="[A-Za-z]*"' "$cases" | cut -d'"' -f2 | sort -u | comm -3 - "$tmp/alerts" >"$tmp/findings"
[ "$(grep -c 'exp_samples: \[\]' "$cases")" -ge "$alerts" ] || echo "too few moments without an alert" >>"$tmp/findings"
check "each alert fires in a case"

promtool=$(command -v promtool || ls build/deps/usr/bin/promtool 2>/dev/null)
if [ -n "$promtool" ]; then
	"$promtool" check rules "$dir/rules.yaml" >"$tmp/findings" 2>&1
	ok $? "promtool takes the rules"
	"$promtool" test rules "$cases" >"$tmp/findings" 2>&1
	ok $? "each alert fires when it should and is quiet when it should"
	# Panels as rules that record: promtool parses no dashboard.
	{
		printf 'groups:\n- name: panels\n  rules:\n'
		cut -f2 "$tmp/panels" | sed 's/\$__rate_interval/5m/g; s/\$[a-z]*"/.*"/g' | awk '{ gsub(/\047/, "\047\047"); print "  - {record: a:" NR ", expr: \047" $0 "\047}" }'
	} >"$tmp/panels.yaml"
	"$promtool" check rules "$tmp/panels.yaml" >"$tmp/findings" 2>&1
	ok $? "promtool takes the expressions of the dashboard"
else
	for what in "promtool takes the rules" "each alert fires when it should" "promtool takes the expressions of the dashboard"; do
		skip "$what" "promtool is missing: conf/install-deps test brings it"
	done
fi
done_testing
