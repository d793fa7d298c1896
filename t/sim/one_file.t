#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A new fault of the simulation is one new file in t/sim/faults: in a copy of the sources one is
# dropped in, and the simulation knows it, draws it where it is asked for, and draws nothing else
# than before. Two faults that took the same number are named, not drawn.
set -u
cd "$(dirname "$0")/../.." || exit 1
. t/integration/tap.sh
B=${B:-build/dev}
CC=${CC:-gcc}
dir=build/mutants/one-file
log=build/mutants/one-file.log
new=$dir/t/sim/faults/new.c

rm -rf $dir
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/$B/t" $dir/t
cp -al Makefile VERSION core sdk adapters plugins conf $dir/
cp -al t/kubesim t/lib t/sim $dir/t/
[ ! -d build/deps ] || ln -s ../../../deps $dir/build/deps
for d in core adapters plugins t/kubesim t/lib t/sim; do
	cp -al "$B/$d" "$dir/$B/$d"
done
cp -al "$B"/lib*.a "$dir/$B/"

# build NUMBER: the copy, with a world of that number in a file of its own.
build() {
	rm -f $new "$dir/$B/sim"
	cat >$new <<-END
		#include "t/sim/sim.h"

		static void begin(struct sim *s, struct fault *f)
		{
			plane_end_streams(&s->plane[f->plane], TRANSPORT_LOST);
		}

		FAULT(made_up) = {
			.family = FAULT_OF_WORLD,
			.number = $1,
			.name = "made up by a test",
			.world = "made-up",
			.on_request = true,
			.begin = begin,
		};
	END
	env -u MAKEFLAGS make -j1 -C $dir FLAVOUR="${B#build/}" CC="$CC" "$B/sim" >$log 2>&1
}

# streams SIM OPTIONS...: what is sent in these seeds, as one number.
streams() {
	"$@" --seeds 30 --jobs 2 | sed -n 's/^streams //p'
}

# said PATTERN NAME: the command before said so.
said() {
	grep -Eq "$1" $log
	ok $? "$2"
}

next=$("$B/sim" --list-faults | grep -c '^world')
build "$next"
is $? 0 "a tree with one more file in t/sim/faults builds"
"$dir/$B/sim" --list-faults >$log 2>&1
said "^world +$next +made up by a test: --world made-up\$" "the simulation lists the fault of that file"
"$dir/$B/sim" --world made-up --seeds 30 --jobs 2 >$log 2>&1
is $? 0 "seeds that have it hold every invariant"
said '^# fault +made up by a test +[1-9]' "and it is met in them"
is "$(streams "$dir/$B/sim")" "$(streams "$B/sim")" "the other seeds send what they sent"
is "$(streams "$dir/$B/sim" --wide)" "$(streams "$B/sim" --wide)" "so do the other wide seeds"
build 0
"$dir/$B/sim" --list-faults >$log 2>&1
is $? 2 "a number that is taken is refused"
said '"(made up by a test|a server under two names)".* number 0 of world, as has' "by the names of both"
build $((next + 1))
"$dir/$B/sim" --list-faults >$log 2>&1
said '"made up by a test".* and the one before is missing' "so is one that leaves a gap"
done_testing
