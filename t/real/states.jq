# SPDX-License-Identifier: Apache-2.0
# The last $n states of Workloads in a history of `fleet record`, a line each.
[inputs | select(.object.spec.podSets)] | .[-$n:][] |
	"\(.time) \(.plane) \(.type) " +
	(.object | "\(.metadata.name) \(.metadata.resourceVersion) active=\(.spec.active) " +
		"on=\(.status.clusterName) of=\(.status.nominatedClusterNames) " +
		([.status.admissionChecks[]? | "\(.name)=\(.state): \(.message)"] | join("; ")) + " " +
		([.status.conditions[]? | "\(.type)=\(.status) \(.lastTransitionTime) \(.message)"] | join("; ")))
