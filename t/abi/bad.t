#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plugins that are wrong in one way each (t/abi/bad/), and directories that must not be trusted:
# every one gives one clear error, and an error in one file does not hide another's. Shown with
# mk-plugin-check, which loads a directory as the daemon does.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
tmp=$(mktemp -d) || exit 1
tmp=$(cd "$tmp" && pwd -P)
chmod 755 "$tmp"
trap 'umount "$tmp/ro" 2>/dev/null; rm -rf "$tmp"' EXIT
# A copy of its own: a build beside the test replaces the file.
check=$tmp/mk-plugin-check
cp "$B/mk-plugin-check" "$check" || exit 1
# Away from its folder it does not find the library that a build brings along.
! deps=$(ls -d "$PWD"/build/deps/usr/lib/*-linux-* 2>/dev/null) || export LD_LIBRARY_PATH="$deps"
n=0 failed=0
good() { n=$((n + 1)); echo "ok $n - $1"; }
bad() { n=$((n + 1)); failed=1; echo "not ok $n - $1"; }
umask 022

# compile <plugin> <file>; what must not link with -z defs is undefined_symbol
compile() { # NAME FILE [OPTIONS...]
	name=$1 file=$2
	shift 2
	${CC:-gcc} -std=c17 -Isdk -It/abi/bad -fPIC -fvisibility=hidden -shared -o "$file" "t/abi/bad/$name.c" "$@" && chmod 755 "$file"
}

# expect <name> <code> <output of the checker, exactly; DIR stands for the directory> <arguments...>
expect() {
	name=$1 code=$2
	want=$(printf '%s\n' "$3" | sed "s|DIR|$tmp|g")
	shift 3
	got=$("$check" --quiet "$@" 2>&1)
	real=$?
	if [ "$real" -eq "$code" ] && [ "$got" = "$want" ]; then
		good "$name"
	else
		bad "$name"
		printf 'exit %s\n%s\n--- expected exit %s\n%s\n' "$real" "$got" "$code" "$want" | sed 's/^/# /'
	fi
}

# a directory with one plugin of t/abi/bad in it
alone() { rm -rf "$tmp/one"; mkdir "$tmp/one"; compile "$1" "$tmp/one/$1.so"; }
one_error() { # plugin, error
	alone "$1"
	expect "$1" 1 "FAIL DIR/one/$1.so: $2
1 problem" "$tmp/one"
}

alone good
expect 'a good one' 0 '' "$tmp/one"
advice="rebuild it against sdk/ of multikueued $(cat VERSION) (ABI $(sed -nE 's/.*MK_ABI_MAJOR ([0-9]+).*/\1/p' sdk/multikueue/abi.h).$(sed -nE 's/.*MK_ABI_MINOR ([0-9]+).*/\1/p' sdk/multikueue/abi.h))"
one_error wrong_magic "magic: expected 0x314b4d7f, found 0x464c457f; $advice"
one_error short_struct "struct_size: expected at least 40, found 24; $advice"
one_error long_struct "struct_size: expected at most the symbol's 40 bytes, found 4000"
one_error other_major "abi_major: expected 1, found 2; $advice"
one_error newer_minor "min_host_minor: expected at most 3, found 7; upgrade multikueued, or $advice"
one_error null_slot 'dispatcher 0: nominate: expected a function, found NULL'
one_error undefined_symbol 'load: expected a loadable object, found: undefined symbol: nobody_has_this'
alone no_entry
expect no_entry 1 'FAIL DIR/one/no_entry.so: exports: expected mk_plugin_entry alone, found other_entry
FAIL DIR/one/no_entry.so: entry: expected the symbol mk_plugin_entry, found none
2 problems' "$tmp/one"
one_error many 'min_host_minor: expected at most 3, found 7; upgrade multikueued, or '"$advice"'; adapter 0: flags: expected bits of 0x3, found 0x40; adapter 0: kind: expected a kind, found NULL; adapter 0: managed_by: expected a JSON pointer that begins with "/", found spec; adapter 0: strip: expected a JSON pointer that begins with "/", found spec/x'

alone function_entry
case $("$check" "$tmp/one" 2>&1) in
"FAIL $tmp/one/function_entry.so: entry: expected a constant of type mk_entry, found "*' bytes of type 2
1 problem') good 'function_entry' ;;
*) bad 'function_entry' ;;
esac

# duplicates: of another plugin's dispatcher, of another plugin's kind
mkdir "$tmp/dup"
for p in duplicate_name:plugins/all_at_once duplicate_kind:adapters/job; do
	rm -f "$tmp/dup/"*
	${CC:-gcc} -std=c17 -Isdk -fPIC -fvisibility=hidden -shared -o "$tmp/dup/a.so" "${p#*:}.c"
	compile "${p%:*}" "$tmp/dup/b.so"
	case $p in
	duplicate_name*) why='dispatcher 0: name: expected one that is not taken, found it also in DIR/dup/a.so' ;;
	*) why='adapter 0: kind: expected one without an adapter, found batch/v1, Kind=Job (also in DIR/dup/a.so)' ;;
	esac
	expect "${p%:*}" 1 "FAIL DIR/dup/b.so: $why
1 problem" "$tmp/dup"
done
rm "$tmp/dup/"*
compile good "$tmp/dup/a.so"
cp "$tmp/dup/a.so" "$tmp/dup/b.so"
case $("$check" "$tmp/dup") in
*"b.so: id: expected one that is not taken, found test.bad (also in $tmp/dup/a.so); "*) good 'the same plugin twice' ;;
*) bad 'the same plugin twice' ;;
esac

# not a plugin at all
alone good; rm "$tmp/one/good.so"; echo 'not a plugin, but long enough to hold the header of one, if it were one....' >"$tmp/one/text.so"
expect 'not an ELF file' 1 'FAIL DIR/one/text.so: format: expected an ELF shared object, found another file
1 problem' "$tmp/one"
: >"$tmp/one/text.so"
expect 'an empty file' 1 'FAIL DIR/one/text.so: format: expected an ELF shared object, found another file
1 problem' "$tmp/one"
rm "$tmp/one/text.so"; mkdir "$tmp/one/dir.so"
expect 'a directory named like a plugin' 1 'FAIL DIR/one/dir.so: file: expected a regular one, found another type
1 problem' "$tmp/one"
rmdir "$tmp/one/dir.so"; mkfifo "$tmp/one/fifo.so"
expect 'a fifo does not hang it' 1 'FAIL DIR/one/fifo.so: file: expected a regular one, found another type
1 problem' "$tmp/one"
rm "$tmp/one/fifo.so"; touch "$tmp/one/README"
expect 'an empty directory' 1 'FAIL DIR/one: directory: expected at least one *.so, *.yaml or *.yml, found none: put plugins there, or name another directory
1 problem' "$tmp/one"

# who could have put it there
alone good; chmod 775 "$tmp/one/good.so"
expect 'a file that the group may write' 1 'FAIL DIR/one/good.so: mode: expected not writable by group or others, found 0775
1 problem' "$tmp/one"
chmod 755 "$tmp/one/good.so"; chmod 777 "$tmp/one"
expect 'a directory that all may write' 1 'FAIL DIR/one: mode: expected not writable by group or others, found 0777
1 problem' "$tmp/one"
chmod 1777 "$tmp/one"
expect 'nor with the sticky bit: new files would be plugins' 1 'FAIL DIR/one: mode: expected not writable by group or others, found 1777
1 problem' "$tmp/one"
chmod 755 "$tmp/one"; mkdir -p "$tmp/open/deep"; cp "$tmp/one/good.so" "$tmp/open/deep"; chmod 757 "$tmp/open"
expect 'a parent that others may write' 1 'FAIL DIR/open: mode: expected not writable by group or others, found 0757
1 problem' "$tmp/open/deep"
chmod 1777 "$tmp/open"
expect 'a sticky parent is fine: nobody can rename what is ours' 0 '' "$tmp/open/deep"
chmod 757 "$tmp/open"; chmod 777 "$tmp/open/deep/good.so" "$tmp/open/deep"
expect 'a bad parent and a bad directory together' 1 'FAIL DIR/open: mode: expected not writable by group or others, found 0757
FAIL DIR/open/deep: mode: expected not writable by group or others, found 0777
2 problems' "$tmp/open/deep"
if [ "$(id -u)" -eq 0 ]; then
	chown 12345 "$tmp/one/good.so"
	expect 'a file of another user' 1 'FAIL DIR/one/good.so: owner: expected root or uid 0, found uid 12345
1 problem' "$tmp/one"
	chown 0 "$tmp/one/good.so"; chown 12345 "$tmp/one"
	expect 'a directory of another user' 1 'FAIL DIR/one: owner: expected root or uid 0, found uid 12345
1 problem' "$tmp/one"
	chown 0 "$tmp/one"
	if mkdir "$tmp/ro" && mount -t tmpfs -o size=1m none "$tmp/ro" 2>/dev/null; then
		cp "$tmp/one/good.so" "$tmp/ro"; chmod 777 "$tmp/ro" "$tmp/ro/good.so"; chown 12345 "$tmp/ro/good.so"
		mount -o remount,ro "$tmp/ro"
		expect 'a read-only mount counts as unwritable' 0 '' "$tmp/ro"
		umount "$tmp/ro"
	fi
fi

# links
mkdir "$tmp/link"; ln -s "$tmp/one/good.so" "$tmp/link/good.so"
expect 'a link out of the directory' 1 'FAIL DIR/link/good.so: link: expected a file of the same directory, found a link to DIR/one/good.so
1 problem' "$tmp/link"
rm "$tmp/link/good.so"; cp "$tmp/one/good.so" "$tmp/link/good.so.1"; ln -s good.so.1 "$tmp/link/good.so"
expect 'a link inside of it' 0 '' "$tmp/link"
rm "$tmp/link/good.so.1"
expect 'a link to nothing' 1 'FAIL DIR/link/good.so: file: expected a readable one, found: No such file or directory
1 problem' "$tmp/link"

# every file is reported
rm -rf "$tmp/all"; mkdir "$tmp/all"
for p in good other_major wrong_magic; do compile $p "$tmp/all/$p.so"; done
echo text >"$tmp/all/a.so"
expect 'all files together' 1 "FAIL DIR/all/a.so: format: expected an ELF shared object, found another file
FAIL DIR/all/other_major.so: abi_major: expected 1, found 2; $advice
FAIL DIR/all/wrong_magic.so: magic: expected 0x314b4d7f, found 0x464c457f; $advice
3 problems" "$tmp/all"

# what only the checker sees
compile constructor "$tmp/constructor.so"
expect 'a constructor and another symbol' 1 'FAIL DIR/constructor.so: constructors: expected none (they run before any check), found 1
FAIL DIR/constructor.so: exports: expected mk_plugin_entry alone, found counter
2 problems' "$tmp/constructor.so"
compile constructor "$tmp/bare.so" -nostartfiles
expect 'a constructor, linked as the template does' 1 'FAIL DIR/bare.so: constructors: expected none (they run before any check), found 1
FAIL DIR/bare.so: exports: expected mk_plugin_entry alone, found counter
2 problems' "$tmp/bare.so"
compile init "$tmp/init.so" -nostartfiles -Wl,-init,begin
expect 'code that the linker was told to run' 1 'FAIL DIR/init.so: constructors: expected none (they run before any check), found 1
1 problem' "$tmp/init.so"
compile good "$tmp/plain.so" -nostartfiles
expect 'none of either' 0 '' "$tmp/plain.so"
mkdir "$tmp/dir"; mv "$tmp/bare.so" "$tmp/dir"
expect 'the files of a directory are looked into as well' 1 'FAIL DIR/dir/bare.so: constructors: expected none (they run before any check), found 1
FAIL DIR/dir/bare.so: exports: expected mk_plugin_entry alone, found counter
2 problems' "$tmp/dir"
mkdir "$tmp/fixture"
echo '{"apiVersion":"ex.io/v1","kind":"Bad","metadata":{"name":"b","uid":"u"},"spec":{}}' >"$tmp/fixture/local.json"
echo '{"metadata":{"name":"w"}}' >"$tmp/fixture/workload.json"
compile fault "$tmp/fault.so"
expect 'a hook that breaks the rules' 1 'FAIL DIR/fixture: plugin test.bad 1, remote of ex.io/v1, Kind=Bad: draft: /metadata/name: expected no change, found another value
1 problem' --fixtures "$tmp/fixture" "$tmp/fault.so"
compile impure "$tmp/impure.so"
expect 'a hook with hidden state' 1 'FAIL DIR/fixture: the second call of a hook with the same input answered otherwise
1 problem' --fixtures "$tmp/fixture" "$tmp/impure.so"
# plugins that do not come back: each situation is named, and the next one runs
rm -rf "$tmp/dies"; mkdir "$tmp/dies"
# A sanitizer would make its own end of a crash.
ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0:${ASAN_OPTIONS:-}
export ASAN_OPTIONS
compile dies "$tmp/dies.so" -D_GNU_SOURCE
dies_in() { # HOOK WAY WORDS [OPTIONS...]: one situation
	case $1 in
	nominate)
		what=ex.io/$2
		dispatcher_situation "$2"
		;;
	*)
		what="ex.io/v1, Kind=$2"
		situation_of "$2" one
		[ "$1" = remote ] || cp "$tmp/dies/one/local.json" "$tmp/dies/one/remote.json"
		;;
	esac
	hook=$1 way=$2 words=$3
	shift 3
	expect "$hook: $way" 1 "FAIL DIR/dies/one: plugin test.dies 1.0.0, $hook of $what: expected a return$words
1 problem ($sum); 1 situation run" "$@" --fixtures "$tmp/dies/one" "$tmp/dies.so"
}
dispatcher_situation() { # NAME
	rm -rf "$tmp/dies/one"; mkdir "$tmp/dies/one"
	echo '{"metadata":{"name":"w"}}' >"$tmp/dies/one/workload.json"
	echo '[]' >"$tmp/dies/one/clusters.json"
	echo '{"dispatcher":"ex.io/'"$1"'"}' >"$tmp/dies/one/env.json"
}
situation_of() { # KIND FOLDER
	rm -rf "$tmp/dies/$2"; mkdir "$tmp/dies/$2"
	echo '{"apiVersion":"ex.io/v1","kind":"'"$1"'","metadata":{"name":"b","uid":"u"},"spec":{}}' >"$tmp/dies/$2/local.json"
	echo '{"metadata":{"name":"w"}}' >"$tmp/dies/$2/workload.json"
}
sum='1 crashed, 0 did not return, 0 ended the process'
segv=', found a crash by SIGSEGV' stack=': the stack of 8 MiB is used up' memory=', near the limit of 64 MiB of memory'
case $B in
*asan*) stack='' limits='' ;; # it has handlers and needs addresses of its own
*) limits=1 ;;
esac
dies_in remote Segfault "$segv"
dies_in status StatusSegfault "$segv"
dies_in nominate segfault "$segv"
dies_in remote Overflow "$segv$stack"
dies_in nominate overflow "$segv$stack"
dies_in remote Abort ', found a crash by SIGABRT'
dies_in nominate abort ', found a crash by SIGABRT'
[ -z "$limits" ] || dies_in remote Eat "$segv$memory" --memory 64
sum='0 crashed, 0 did not return, 1 ended the process'
dies_in remote Exit ', found the end of the process, exit code 0'
dies_in nominate exit ', found the end of the process, exit code 0'
sum='0 crashed, 1 did not return, 0 ended the process'
late=' within 1 s, found none'
dies_in remote Forever "$late" --timeout 1
dies_in status StatusForever "$late" --timeout 1
dies_in nominate loop "$late" --timeout 1
dies_in remote Close "$late" --timeout 1
dies_in remote Multiply "$late" --timeout 1
pgrep_ours() { for p in /proc/[0-9]*/cmdline; do tr '\0' ' ' <"$p" 2>/dev/null | grep -F "$check "; done; }
[ -z "$(pgrep_ours)" ] && good 'what a hook started is ended with it' || bad 'what a hook started is ended with it'
rm -rf "$tmp/dies"; mkdir "$tmp/dies"
for kind in Abort Exit Forever Segfault Well; do situation_of $kind $kind; done
FAILED="FAIL DIR/dies/Abort: plugin test.dies 1.0.0, remote of ex.io/v1, Kind=Abort: expected a return, found a crash by SIGABRT
FAIL DIR/dies/Exit: plugin test.dies 1.0.0, remote of ex.io/v1, Kind=Exit: expected a return, found the end of the process, exit code 0
FAIL DIR/dies/Forever: plugin test.dies 1.0.0, remote of ex.io/v1, Kind=Forever: expected a return within 1 s, found none
FAIL DIR/dies/Segfault: plugin test.dies 1.0.0, remote of ex.io/v1, Kind=Segfault: expected a return, found a crash by SIGSEGV"
expect 'after each of them the next situation runs' 1 "$FAILED
4 problems (2 crashed, 1 did not return, 1 ended the process); 5 situations run" --timeout 1 --fixtures "$tmp/dies" "$tmp/dies.so"
"$check" --timeout 1 --fixtures "$tmp/dies" "$tmp/dies.so" >"$tmp/out"
grep -q "^ok   $tmp/dies/Well: " "$tmp/out" && good 'the last one is well' || bad 'the last one is well'
grep -qF "gdb --args mk-plugin-check --no-fork --fixtures $tmp/dies/Abort $tmp/dies.so" "$tmp/out" &&
	good 'the command for a debugger is told' || bad 'the command for a debugger is told'
(ulimit -c 0; exec "$check" --no-fork --fixtures "$tmp/dies/Abort" "$tmp/dies.so") >/dev/null 2>&1
[ $? -eq 134 ] && good '--no-fork: the crash is its own' || bad '--no-fork: the crash is its own'
"$check" --no-fork --fixtures "$tmp/dies/Well" "$tmp/dies.so" | grep -q "^ok   $tmp/dies/Well: " && good '--no-fork: a good one' || bad '--no-fork: a good one'
"$check" --no-fork --fixtures "$tmp/dies" "$tmp/dies.so" >/dev/null 2>&1; [ $? -eq 2 ] && good '--no-fork wants one situation: exit 2' || bad '--no-fork wants one situation: exit 2'
for o in --timeout=0 --timeout=x --timeout=3601 --memory=0 --stack=-1; do
	"$check" $o "$tmp/dies.so" >/dev/null 2>&1; [ $? -eq 2 ] && good "$o: exit 2" || bad "$o: exit 2"
done
compile leaves_traces "$tmp/traces.so" -D_GNU_SOURCE -pthread
while read -r kind words; do
	situation_of "$kind" one
	expect "a hook that leaves traces: $kind" 1 "FAIL DIR/dies/one: traces: expected none after the hooks, found $words
1 problem" --fixtures "$tmp/dies/one" "$tmp/traces.so"
done <<-END
	File files that are still open
	Thread threads that still run
	Process processes that were started
	Signal the handling of signals changed
	Folder another working directory, another mask of files' modes
END
situation_of Input one
expect 'a hook that writes into its inputs' 1 'FAIL DIR/dies/one: a hook wrote into its inputs
1 problem' --fixtures "$tmp/dies/one" "$tmp/traces.so"
dispatcher_situation input
expect 'a dispatcher that does' 1 'FAIL DIR/dies/one: a hook wrote into its inputs
1 problem' --fixtures "$tmp/dies/one" "$tmp/traces.so"
compile dies_at_load "$tmp/at_load.so"
expect 'a crash while it is loaded' 1 'FAIL DIR/at_load.so: constructors: expected none (they run before any check), found 1
FAIL DIR/at_load.so: load: expected a return, found a crash by SIGABRT
2 problems (1 crashed, 0 did not return, 0 ended the process); 0 situations run' "$tmp/at_load.so"
mkdir "$tmp/loads"; cp "$tmp/at_load.so" "$tmp/loads/b.so"; compile good "$tmp/loads/a.so"
expect 'one of a directory' 1 'FAIL DIR/loads/b.so: constructors: expected none (they run before any check), found 1
FAIL DIR/loads/b.so: load: expected a return, found a crash by SIGABRT
2 problems (1 crashed, 0 did not return, 0 ended the process); 0 situations run' "$tmp/loads"
compile dies_at_exit "$tmp/at_exit.so"
expect 'a crash when the process ends' 1 'FAIL DIR/at_exit.so: unload: expected a return, found a crash by SIGABRT
1 problem (1 crashed, 0 did not return, 0 ended the process); 0 situations run' "$tmp/at_exit.so"
expect 'no such file' 1 'FAIL DIR/nothing.so: file: expected a readable one, found: No such file or directory
1 problem' "$tmp/nothing.so"
"$check" >/dev/null 2>&1; [ $? -eq 2 ] && good 'no arguments: exit 2' || bad 'no arguments: exit 2'
"$check" --odd x >/dev/null 2>&1; [ $? -eq 2 ] && good 'an unknown option: exit 2' || bad 'an unknown option: exit 2'
"$check" --help | grep -q '^Examples:' && good '--help has examples' || bad '--help has examples'
echo "1..$n"
exit $failed
