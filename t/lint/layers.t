#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layers include only downward, libraries stay where they belong, banned calls and
# words do not appear, sizes hold.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh

files() { # the tracked and new sources below the given folders
	git ls-files --cached --others --exclude-standard -- "$@" | grep -E '\.[ch]$' | sort -u
}

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
	for f in $(files core/$layer); do
		# what the commands of cli share knows neither the trees nor the quota library
		case $layer:$f in
		cli:core/cli/*/*) continue ;;
		cli:*) grep -nE '"core/cli/[a-z_]+/' "$f" | sed "s|^|$f:|" ;;
		# ... and the groups of commands know what is shared, and each other only as listed
		cli/*)
			groups=$(echo "$layer|$ok" | tr '|' '\n' | grep '^cli/' | paste -sd '|' -)
			grep -nE '"core/cli/[a-z_]+/' "$f" | grep -vE "\"core/($groups)/" | sed "s|^|$f:|"
			;;
		esac
		grep -nE '^#[[:space:]]*include "' "$f" | grep -vE "\"core/($layer${ok:+|$ok})/" |
			{ if [ $layer = net ]; then grep -vE '"core/kube/(transport|lease)\.h"'; else cat; fi; } |
			sed "s|^|$f:|"
	done
done >"$tmp/findings"
check "an include points only downward"

for f in $(files adapters plugins sdk/template sdk/multikueue); do
	grep -nE '^#[[:space:]]*include "' "$f" | grep -vE '"[a-z_]+\.h"' | sed "s|^|$f:|"
	grep -nE '^#[[:space:]]*include <' "$f" | grep -vE '<(multikueue/[a-z]+\.h|stddef\.h|stdint\.h|string\.h|stdbool\.h)>' | sed "s|^|$f:|"
done >"$tmp/findings"
check "adapters, plugins and the template know the SDK only"

only() { # header pattern, then the files that may include it
	pattern=$1
	shift
	for f in $(files core adapters plugins sdk); do
		may=
		for p in "$@"; do
			# shellcheck disable=SC2254
			case $f in $p) may=1 ;; esac
		done
		[ -n "$may" ] || grep -nE "^#[[:space:]]*include <$pattern" "$f" | sed "s|^|$f:|"
	done
}
{
	only 'curl/' 'core/net/*'
	only 'openssl/' 'core/net/tls*' 'core/base/hash*' 'core/net/*' 
	only 'yaml\.h' 'core/base/yaml*'
	only 'yyjson\.h' 'core/base/json*'
	only 'dlfcn\.h' 'core/plug/loader*'
	only 'event2/' 'core/net/*'
	only 'nghttp2/' 'core/net/http2_session.c'
	only 'zlib\.h' 'core/net/inflater.c'
} >"$tmp/findings"
check "each library is known by one module"

banned='strtok|sscanf|sprintf|vsprintf|strcpy|strcat|strncat|localtime|gmtime|atoi|atol|gets|rand|srand|system|popen|alloca|usleep|tmpnam|mktemp'
for f in $(files core adapters plugins sdk t); do
	grep -nE "(^|[^a-zA-Z0-9_.>])($banned)[[:space:]]*\(" "$f" | grep -vE '^[0-9]+:[[:space:]]*(/?\*|//)' | sed "s|^|$f:|"
done >"$tmp/findings"
check "no banned call"

for f in $(files core/base core/model core/kube core/engine core/admit core/apply core/api core/quota core/plug core/config core/manager adapters plugins); do
	case $f in core/base/clock*) continue ;; esac
	grep -nE '\b(clock_gettime|gettimeofday|time)[[:space:]]*\((NULL|CLOCK|&)' "$f" | sed "s|^|$f:|"
done >"$tmp/findings"
check "only base/clock reads a clock"

for f in $(files core adapters plugins sdk); do
	case $f in core/base/alloc.c) continue ;; esac
	grep -nE '(^|[^a-zA-Z0-9_.>])(malloc|calloc|realloc|strdup|strndup)[[:space:]]*\(' "$f" |
		grep -vE '^[0-9]+:[[:space:]]*(/?\*|//)|__attribute__' | sed "s|^|$f:|"
done >"$tmp/findings"
check "memory comes from base/alloc or an arena"

git grep -nE '[])A-Za-z_0-9] == NULL' -- core t | grep -E '^[^:]*\.[ch]:' >"$tmp/findings"
check "a pointer that is not there is !p"

for f in $(files core adapters plugins sdk t); do
	lines=$(wc -l <"$f")
	[ "$lines" -le 600 ] || echo "$f: $lines lines"
done >"$tmp/findings"
check "no file over 600 lines"

for f in $(files core adapters plugins sdk t); do
	awk -v f="$f" '/^[a-zA-Z_].*[,)]$|^[a-zA-Z_].*\)$/ { name = $0 }
		/^\{$/ { start = NR; head = name } /^\}$/ && start { if (NR - start - 1 > 60) print f ":" start ": " NR - start - 1 " lines: " head; start = 0 }' "$f"
done >"$tmp/findings"
check "no function over 60 lines"

git ls-files --cached --others --exclude-standard | grep -vE '^t/(real/(go\.sum|transcript)|package/helm/go\.sum)' |
	xargs grep -nIE '\b(TODO|FIXME|XXX|HACK)\b|not implemented|unimplemented|placeholder' 2>/dev/null |
	grep -vE '^t/lint/|^\.ci/|mktemp' >"$tmp/findings"
check "nothing is left open in the sources"

for f in $(files core adapters plugins sdk t); do
	head -1 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f"
done >"$tmp/findings"
check "every source names its licence"

for f in $(files core sdk/multikueue t/lib | grep '\.h$' | grep -vE '(impl|state|pass|lane|priv)\.h$|_(impl|priv|int)\.h$'); do
	# A declaration at the left margin that ends in ';' and has no comment above it (a run
	# of declarations may share one).
	awk -v f="$f" '
		/\*\/[[:space:]]*$/ || /^\/\*.*\*\/$/ { doc = 1; next }
		/^(static inline|extern "C"|typedef struct|struct [a-z_]+;|enum [a-z_]+;|union |#|$|\}|\{)/ { if ($0 == "") doc = 0; next }
		/^[a-z_].*\(/ && !/^(extern|enum|typedef)/ { if (!doc) print f ":" NR ": " $0 }
		' "$f"
done >"$tmp/findings"
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
