#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins and hosts of different minors. A plugin of each released minor (t/abi/<minor>/: frozen
# headers, a plugin that uses all of them, situations) works in today's host and in one of the next
# minor, which is made here: today's sources with headers in which each struct got a field at its
# end. A plugin of that next minor (t/abi/next/) works in today's host unless it says that it
# cannot. A new minor is a new folder; nothing is changed here.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
dir=$(mktemp -d) || exit 1
dir=$(cd "$dir" && pwd -P)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
umask 022
. t/integration/tap.sh
tap_said=$dir/said
cp "$B/mk-plugin-check" "$dir/today" || exit 1
# Away from its folder it does not find the library that a build brings along.
! deps=$(ls -d "$PWD"/build/deps/usr/lib/*-linux-* 2>/dev/null) || export LD_LIBRARY_PATH="$deps"
constant() { # NAME: of today's headers
	awk -v name="$1" '$1 == "#define" && $2 == name { print $3 }' sdk/multikueue/abi.h
}
major=$(constant MK_ABI_MAJOR)
minor=$(constant MK_ABI_MINOR)
next=$((minor + 1))

# --- the next minor -------------------------------------------------------------------------------
mkdir -p "$dir/sdk/multikueue"
for h in sdk/multikueue/*.h; do
	sed "s/^\(#define MK_ABI_MINOR\) .*/\1 $next/
		s/^} mk_\(entry\|factory\|adapter\|dispatcher\);/	const char *future;\n&/
		s/^} mk_\(view\|dispatch\|pick\);/	mk_val future;\n&/
		s/^} mk_host;/	int (*future)(mk_call *, mk_val);\n&/" "$h" >"$dir/sdk/multikueue/$(basename "$h")"
done
is "$(cat "$dir/sdk/multikueue"/*.h | grep -c future)" 8 "headers of $major.$next, with a field more in each struct"
mkdir "$dir/build"
cp "$B/libbase.a" "$B/libmodel.a" "$dir/build"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j1 FLAVOUR="$(basename "${B%-clang}")" -o "$dir/build/libbase.a" -o "$dir/build/libmodel.a" B="$dir/build" CC="${CC:-gcc}" \
	CPPFLAGS="-I$dir/sdk -I. -D_GNU_SOURCE -DMK_VERSION='\"next\"'" "$dir/build/mk-plugin-check" >"$dir/said" 2>&1 &&
	mv "$dir/build/mk-plugin-check" "$dir/next"
ok $? "today's sources make a host of $major.$next"
"$dir/next" --version >"$dir/said" 2>&1 && grep -q "$major\.$next" "$dir/said"
ok $? "it says so"

compile() { # FILE SOURCE INCLUDE OPTIONS...
	rm -rf "$dir/plugins" && mkdir "$dir/plugins" || return 1
	to=$dir/plugins/$1 from=$2 headers=$3
	shift 3
	${CC:-gcc} -std=c11 -Wall -Wextra -Wpedantic -Werror "-I$headers" -fPIC -fvisibility=hidden -shared "$@" -o "$to" "$from" >"$dir/said" 2>&1
}
runs() { # HOST FIXTURES OPTIONS...: all situations pass, and nothing else is to be said
	host=$1 at=$2
	shift
	"$dir/$host" --fixtures "$@" "$dir/plugins" >"$dir/said" 2>&1 && ! grep -v '^ok ' "$dir/said" &&
		[ "$(grep -c "^ok   $at/" "$dir/said")" -eq "$(find "$at" -name expect.json | wc -l)" ]
}
refuses() { # HOST WHY
	"$dir/$1" --quiet "$dir/plugins" >"$dir/said" 2>&1
	[ $? -eq 1 ] && grep -qxF "FAIL $dir/plugins/p.so: $2" "$dir/said"
}

# --- plugins of the minors that were released -----------------------------------------------------
for minor_dir in t/abi/[0-9]*.[0-9]*; do
	v=${minor_dir##*/}
	compile p.so "$minor_dir/plugin.c" "$minor_dir"
	ok $? "a plugin is built with the headers of $v"
	for h in today next; do
		runs $h "$minor_dir/t" --framework Any.v2.ex.org
		ok $? "a plugin of $v in the host of $h: all situations"
		grep -q ", abi $v, " "$dir/said"
		ok $? "... and the host knows which it is"
	done
done

# --- a plugin of the next minor -------------------------------------------------------------------
newer() { # NAME=VALUE...: what differs from a plugin that gets by with less
	set -- "-DMAJOR=MK_ABI_MAJOR" "-DLEAST=0" "-DFLAGS=0" "-DFUTURE=0" "-DFACTORY=MK_FACTORY_DISPATCHER" "$@"
	for o in "$@"; do
		shift
		for late in "$@"; do
			case $late in "${o%%=*}="*) continue 2 ;; esac
		done
		set -- "$@" "$o"
	done
	compile p.so t/abi/next/plugin.c "$dir/sdk" "$@"
}
newer && runs today t/abi/next/t
ok $? "a plugin of $major.$next that asks before it uses what is new works in today's host"
"$dir/next" --fixtures t/abi/next/t "$dir/plugins" >"$dir/said" 2>&1
grep -q '^FAIL t/abi/next/t/create: .*"seen":"much","asked":"yes"' "$dir/said"
ok $? "and uses it in a host that has it"
newer '-DFUTURE="x"' && "$dir/today" --quiet "$dir/plugins" >"$dir/said" 2>&1
ok $? "one whose descriptors use what is new loads in today's host"
is "$(grep -c "^warn $dir/plugins/p.so: .*: built for abi $major.$next uses a field at offset [0-9]* that this host ($major.$minor) does not know; it is ignored$" "$dir/said")" 4 \
	"... which warns, with both minors and the offset, of entry, factory, adapter and dispatcher"
advice="rebuild it against sdk/ of multikueued $(cat VERSION) (ABI $major.$minor)"
newer -DLEAST=$next && refuses today "min_host_minor: expected at most $minor, found $next; upgrade multikueued, or $advice"
ok $? "one that needs $major.$next is refused, with both numbers"
newer -DLEAST=$next && "$dir/next" --quiet "$dir/plugins" >"$dir/said" 2>&1
ok $? "and loads in the host that it needs"
newer -DMAJOR=$((major + 1)) && refuses today "abi_major: expected $major, found $((major + 1)); $advice"
ok $? "another major is refused"
newer -DFLAGS=0x40000000u && refuses today "adapter 0: flags: expected bits of 0x3, found 0x40000000; dispatcher 0: flags: expected bits of 0x3, found 0x40000000"
ok $? "a flag that today's host does not know is refused, of adapters and of dispatchers"
newer '-DFACTORY="mk.queue-policy/1"' && "$dir/today" "$dir/plugins" >"$dir/said" 2>&1 && grep -q '^warn .*mk.queue-policy/1' "$dir/said" &&
	grep -q 'ok   adapter ex.io/v1, Kind=Newer' "$dir/said" && ! grep -q '^ok   dispatcher' "$dir/said"
ok $? "a factory that it does not know is skipped, with a warning"

# --- the plugins that we ship ---------------------------------------------------------------------
loads() {
	"$dir/next" --quiet "$dir/plugins" >"$dir/said" 2>&1 && return
	# AddressSanitizer adds a constructor to each object, which is
	# told, and nothing else may be.
	ldd "$B/plugins/job.so" | grep -q libasan && ! grep -qvE ': constructors: expected none|^[0-9]+ problems?$' "$dir/said"
}
rm -rf "$dir/plugins" && mkdir "$dir/plugins" && install -m 755 "$B"/plugins/*.so "$dir/plugins" && loads
ok $? "all plugins of today load in the host of $major.$next"
done_testing
