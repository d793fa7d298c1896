#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# network.transport: curl. The same jobs, for the same requests, with libcurl for all servers.
cd "$(dirname "$0")/../.." || exit 1
FLEET_TRANSPORT=curl exec t/integration/e2e_happy.t
