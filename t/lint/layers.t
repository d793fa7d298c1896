#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layers include only downward, libraries stay where they belong, banned calls and
# words do not appear, sizes hold.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh

# The tracked and new sources, asked for once: a process per file and rule would take half a minute.
git ls-files --cached --others --exclude-standard -- core adapters plugins sdk t | grep -E '\.[ch]$' |
	sort -u >"$tmp/sources"
files() { # those below the given folders
	for folder in "$@"; do
		grep "^$folder/" "$tmp/sources"
	done
}
code='^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)' # not this: a comment, in what grep -nH prints

# layer -> the layers it may include besides itself; core/api/names.h has the names that
# many of them write
allowed() {
	case $1 in
	base) echo '' ;;
	model) echo 'api|base' ;;
	kube) echo 'model|api|base' ;;
	plug) echo 'api|base' ;;
	api) echo 'base' ;;
	quota) echo 'api|base' ;;
	trees) echo 'quota|api|base' ;;
	engine) echo 'plug|api|model|base' ;;
	apply) echo 'kube|model|base' ;;
	admit) echo 'model|api|base' ;;
	net) echo 'base' ;;
	# Bytes in, struct out: a tool or a test links the configuration without a client or a
	# socket.
	config) echo 'plug|api|base' ;;
	# What the simulation runs: it cannot know what only the daemon has
	# (sockets, files, the configuration).
	manager) echo 'apply|engine|kube|model|base' ;;
	# What others ask us over HTTP. No layer includes daemon, so what serve shows
	# of the process is handed to it.
	serve) echo 'manager|trees|config|net|admit|kube|model|api|base' ;;
	daemon) echo 'serve|manager|trees|config|net|apply|admit|engine|plug|kube|model|api|base' ;;
	cli) echo 'plug|base' ;;
	cli/tree) echo 'cli|quota|api|base' ;;
	cli/fleet) echo 'cli|net|api|base' ;;
	cli/doctor) echo 'cli/fleet|cli|kube|net|api|base' ;;
	cli/worker) echo 'cli|api|base' ;;
	esac
}

for layer in base model kube plug api quota trees engine admit apply net config manager serve daemon cli cli/tree cli/fleet cli/doctor cli/worker; do
	[ -d core/$layer ] || continue
	ok=$(allowed $layer)
	files core/$layer >"$tmp/layer"
	# what the commands of cli share knows neither the trees nor the quota library
	if [ $layer = cli ]; then
		grep -v '^core/cli/.*/' "$tmp/layer" >"$tmp/shared"
		mv "$tmp/shared" "$tmp/layer"
	fi
	xargs grep -nHE '^#[[:space:]]*include "' <"$tmp/layer" >"$tmp/includes"
	case $layer in
	cli) grep -E '"core/cli/[a-z_]+/' "$tmp/includes" ;;
	# ... and the groups of commands know what is shared, and each other only as listed
	cli/*)
		groups=$(echo "$layer|$ok" | tr '|' '\n' | grep '^cli/' | paste -sd '|' -)
		grep -E '"core/cli/[a-z_]+/' "$tmp/includes" | grep -vE "\"core/($groups)/"
		;;
	esac
	grep -vE "\"core/($layer${ok:+|$ok})/" "$tmp/includes" |
		if [ $layer = net ]; then grep -vE '"core/kube/(transport|lease)\.h"'; else cat; fi
done >"$tmp/findings"
check "an include points only downward"

{
	files adapters plugins sdk/template sdk/multikueue | xargs grep -nHE '^#[[:space:]]*include "' |
		grep -vE '"[a-z_]+\.h"'
	files adapters plugins sdk/template sdk/multikueue | xargs grep -nHE '^#[[:space:]]*include <' |
		grep -vE '<(multikueue/[a-z]+\.h|stddef\.h|stdint\.h|string\.h|stdbool\.h)>'
} >"$tmp/findings"
check "adapters, plugins and the template know the SDK only"

only() { # header pattern, then what the names of the files begin with that may include it
	pattern=$1
	may=$2
	files core adapters plugins sdk | grep -vE "^($may)" | xargs grep -nHE "^#[[:space:]]*include <$pattern"
}
{
	only 'curl/' 'core/net/'
	only 'openssl/' 'core/net/|core/base/hash'
	only 'yaml\.h' 'core/base/yaml'
	only 'yyjson\.h' 'core/base/json'
	only 'dlfcn\.h' 'core/plug/loader'
	only 'event2/' 'core/net/'
	only 'nghttp2/' 'core/net/http2_session\.c$'
	only 'zlib\.h' 'core/net/inflater\.c$'
} >"$tmp/findings"
check "each library is known by one module"

banned='strtok|sscanf|sprintf|vsprintf|strcpy|strcat|strncat|localtime|gmtime|atoi|atol|gets|rand|srand|system|popen|alloca|usleep|tmpnam|mktemp'
files core adapters plugins sdk t | xargs grep -nHE "(^|[^a-zA-Z0-9_.>])($banned)[[:space:]]*\(" |
	grep -vE "$code" >"$tmp/findings"
check "no banned call"

files core/base core/model core/kube core/engine core/admit core/apply core/api core/quota core/plug core/config core/manager adapters plugins |
	grep -v '^core/base/clock' |
	xargs grep -nHE '\b(clock_gettime|gettimeofday|time)[[:space:]]*\((NULL|CLOCK|&)' >"$tmp/findings"
check "only base/clock reads a clock"

files core adapters plugins sdk | grep -vx core/base/alloc.c |
	xargs grep -nHE '(^|[^a-zA-Z0-9_.>])(malloc|calloc|realloc|strdup|strndup)[[:space:]]*\(' |
	grep -vE "$code|__attribute__" >"$tmp/findings"
check "memory comes from base/alloc or an arena"

git grep -nE '[])A-Za-z_0-9] == NULL' -- core t | grep -E '^[^:]*\.[ch]:' >"$tmp/findings"
check "a pointer that is not there is !p"

files core adapters plugins sdk t | xargs wc -l |
	awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }' >"$tmp/findings"
check "no file over 600 lines"

files core adapters plugins sdk t | xargs awk '
	FNR == 1 { name = ""; start = 0 }
	/^[a-zA-Z_].*[,)]$|^[a-zA-Z_].*\)$/ { name = $0 }
	/^\{$/ { start = FNR; head = name }
	/^\}$/ && start {
		if (FNR - start - 1 > 60)
			print FILENAME ":" start ": " FNR - start - 1 " lines: " head
		start = 0
	}' >"$tmp/findings"
check "no function over 60 lines"

git ls-files --cached --others --exclude-standard | grep -vE '^t/(real/(go\.sum|transcript)|package/helm/go\.sum)' |
	xargs grep -nIE '\b(TODO|FIXME|XXX|HACK)\b|not implemented|unimplemented|placeholder' 2>/dev/null |
	grep -vE '^t/lint/|^\.ci/|mktemp' >"$tmp/findings"
check "nothing is left open in the sources"

files core adapters plugins sdk t | sort >"$tmp/all"
xargs awk 'FNR == 1 && /SPDX-License-Identifier: Apache-2.0/ { print FILENAME }' <"$tmp/all" |
	sort | comm -23 "$tmp/all" - >"$tmp/findings"
check "every source names its licence"

# A declaration at the left margin that ends in ';' and has no comment above it (a run of
# declarations may share one).
files core sdk/multikueue t/lib | grep '\.h$' | grep -vE '(impl|state|pass|lane|priv)\.h$|_(impl|priv|int)\.h$' | xargs awk '
	FNR == 1 { doc = 0 }
	/\*\/[[:space:]]*$/ || /^\/\*.*\*\/$/ { doc = 1; next }
	/^(static inline|extern "C"|typedef struct|struct [a-z_]+;|enum [a-z_]+;|union |#|$|\}|\{)/ { if ($0 == "") doc = 0; next }
	/^[a-z_].*\(/ && !/^(extern|enum|typedef)/ { if (!doc) print FILENAME ":" FNR ": " $0 }
	' >"$tmp/findings"
check "every public function has a comment"

# Another version has other ideas of the same rules: the one of Debian 12 decides.
version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
if [ "$version" = 14 ]; then
	files core adapters plugins sdk t | xargs clang-format --dry-run 2>&1 | grep 'warning' | cut -d: -f1,2 | sort -u >"$tmp/findings"
	check "the house format"
else
	skip "the house format" "clang-format 14 decides, found ${version:-none}"
fi
done_testing
