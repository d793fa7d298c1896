#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Planted bugs: each patch of t/sim/mutants breaks one thing, which its first line names, in a copy
# of the sources; the simulation must notice within 2,000 seeds. A patch that does not apply or
# does not build fails, so that the set follows the code. Copies and objects lie below build/mutants
# and share what a patch does not touch. The second line may say where to look: "seeds from N" (a
# hundred of them), "wide seeds from N", "world NAME seeds from N", or "scenario NAME". A hint that
# misses fails, since each run would search for minutes again; the failure says what to write there
# instead. "unit NAME", "plan NAME": no seed meets it, that test of t/unit or t/plan does.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/dev}
CC=${CC:-gcc}
flavour=${B#build/}
out=build/mutants
seeds=2000

# one PATCH: prepares a copy, patches and builds it, runs it; the result goes to $out/NAME.result.
one() {
	name=$(basename "$1" .patch)
	dir=$out/$name
	rm -rf "$dir"
	mkdir -p "$dir/$B"
	cp -al Makefile VERSION core sdk adapters plugins conf "$dir/"
	mkdir "$dir/t"
	cp -al t/kubesim t/lib t/sim t/unit "$dir/t/"
	mkdir "$dir/t/plan"
	cp -al t/plan/*.c "$dir/t/plan/"
	[ -d build/deps ] && ln -s ../../../deps "$dir/build/deps"
	for d in core adapters plugins; do
		cp -al "$B/$d" "$dir/$B/"
	done
	mkdir "$dir/$B/t"
	cp -al "$B/t/kubesim" "$B/t/lib" "$B/t/sim" "$dir/$B/t/"
	cp -al "$B"/lib*.a "$dir/$B/"
	if ! patch -d "$dir" -p1 -s -N <"$1" >"$out/$name.log" 2>&1; then
		echo "does not apply" >"$out/$name.result"
		return
	fi
	# What the patch touches is built anew, into files of its own: a link shared with
	# the original must not be written.
	sed -n 's|^+++ b/\(.*\)\.c$|\1|p' "$1" | while read -r f; do
		rm -f "$dir/$B/$f.o" "$dir/$B/$f.d"
		touch "$dir/$f.c"
	done
	unit=$(sed -n '2s/^\(unit\|plan\) \(.*\)$/\1 \2/p' "$1")
	made=${unit:+t/${unit% *}/${unit#* }}
	if ! env -u MAKEFLAGS make -j1 -C "$dir" FLAVOUR="$flavour" CC="$CC" WERROR= "$B/${made:-sim}" >>"$out/$name.log" 2>&1; then
		echo "does not build" >"$out/$name.result"
		return
	fi
	if [ -n "$unit" ]; then
		"$dir/$B/$made" >>"$out/$name.log" 2>&1
		sed -n "s/^not ok [0-9]* - \(.*\)/caught: $unit: not so: \1/p" "$out/$name.log" |
			head -n 1 >"$out/$name.result"
		rm -rf "$dir"
		return
	fi
	scenario=$(sed -n '2s/^scenario \(.*\)$/\1/p' "$1")
	if [ -n "$scenario" ]; then
		"$dir/$B/sim" --scenario "$scenario" >>"$out/$name.log" 2>&1
		sed -n "s/^not ok [0-9]* - \(.*\)/caught: $scenario: not so: \1/p" "$out/$name.log" |
			head -n 1 >"$out/$name.result"
		rm -rf "$dir"
		return
	fi
	from=$(sed -n '2s/^.*seeds from \([0-9]*\)$/\1/p' "$1")
	which=$(sed -n -e '2s/^wide .*/--wide/p' -e '2s/^world \([a-z0-9,]*\).*/--world \1/p' "$1")
	# shellcheck disable=SC2086
	[ -z "$from" ] || "$dir/$B/sim" $which --seeds 100 --first "$from" --jobs 1 >>"$out/$name.log" 2>&1
	# shellcheck disable=SC2086
	grep -q '^FAIL' "$out/$name.log" ||
		"$dir/$B/sim" $which --seeds $seeds --jobs 1 >>"$out/$name.log" 2>&1
	seed=$(sed -n 's/^FAIL seed=\([0-9]*\) .*/\1/p' "$out/$name.log" | head -n 1)
	# shellcheck disable=SC2086
	if [ -n "$seed" ] && [ -n "$from" ] && { [ "$seed" -lt "$from" ] || [ "$seed" -ge $((from + 100)) ]; }; then
		echo "its hint misses: the seeds from $from on do not catch it, seed $seed does" >"$out/$name.result"
	elif [ -n "$seed" ] && ! "$B/sim" $which --seeds 1 --first "$seed" --jobs 1 >/dev/null 2>&1; then
		echo "seed $seed fails without the patch too" >"$out/$name.result"
	else
		sed -n 's/^FAIL \(.*\)/caught: \1/p' "$out/$name.log" | head -n 1 >"$out/$name.result"
	fi
	rm -rf "$dir"
}

if [ "${1:-}" = one ]; then
	one "$2"
	exit 0
fi
mkdir -p $out
rm -f $out/*.result
export B CC
printf '%s\n' t/sim/mutants/*.patch | xargs -P ${MUTANT_JOBS:-2} -n 1 sh t/sim/mutants.t one
n=0
by_seed=0
failed=0
for p in t/sim/mutants/*.patch; do
	name=$(basename "$p" .patch)
	n=$((n + 1))
	result=$(cat "$out/$name.result" 2>/dev/null)
	case $result in
	caught*)
		echo "ok $n - $name: $(head -n 1 "$p")"
		echo "# $result"
		seed=$(echo "$result" | sed -n 's/^caught: seed=\([0-9]*\) .*/\1/p')
		[ "${seed:-$((seeds + 1))}" -gt $seeds ] || by_seed=$((by_seed + 1))
		;;
	*)
		echo "not ok $n - $name: $(head -n 1 "$p")"
		echo "# ${result:-not caught within $seeds seeds}"
		sed 's/^/#   /' "$out/$name.log" | grep -v '^#     ' | tail -n 5
		failed=1
		;;
	esac
done
n=$((n + 1))
[ $by_seed -ge 20 ] || { failed=1; printf 'not '; }
echo "ok $n - $by_seed planted bugs, of at least 20, are found within $seeds seeds; the others by their scenarios"
echo "1..$n"
exit $failed
