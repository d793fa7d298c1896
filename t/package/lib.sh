# SPDX-License-Identifier: Apache-2.0
# Shell library of the tests of what is made to be shipped. Source it after tap.sh.
# shellcheck shell=sh

# shipped WHAT: only flavours that are shipped make it, or the test ends here. 'make' is make for
# the one under test, as if users called it.
shipped() {
	case ${B##*/} in
	dev* | release*) ;;
	*)
		skip "$1" "the flavour of $B is for tests alone SKIP-CI-OK"
		done_testing
		;;
	esac
	flavour=${B##*/}
	make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s FLAVOUR=${flavour%-clang} B=$B CC=${CC:-gcc}"
}
