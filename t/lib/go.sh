# SPDX-License-Identifier: Apache-2.0
# Programs in Go, for every script that builds some: they are kept outside of build/, in
# ${XDG_CACHE_HOME:-~/.cache}/multikueued, by the hash of all that they are made of. So another
# folder, another worktree and a clean one compile them once in all. Sourced, not run.
# shellcheck shell=sh

# One hash of files (go.mod and go.sum name every module by its hash), of the Go that compiles, and
# of its settings.
go_key() { # FILE...
	{ cat "$@" && go version && go env GOOS GOARCH CGO_ENABLED GOFLAGS GOEXPERIMENT; } | sha256sum | cut -c 1-32
}

# Puts into FOLDER the programs that COMMAND makes in the folder that it gets as its last argument,
# which is run when no run before had this KEY. Two runs at once may both build; whichever ends
# first is kept. What no run has asked for in a month is removed.
go_keep() { # KEY FOLDER COMMAND...
	go_into=$2
	go_kept=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/multikueued
	mkdir -p "$go_kept" 2>/dev/null && [ -w "$go_kept" ] || go_kept=$go_into/.kept
	go_made=$go_kept/go-$1
	shift 2
	mkdir -p "$go_kept" "$go_into"
	find "$go_kept" -mindepth 1 -maxdepth 1 -name 'go-*' ! -path "$go_made" -mtime +30 -exec rm -rf {} +
	if [ ! -d "$go_made" ]; then
		go_new=$(mktemp -d "$go_kept/go-new-XXXXXX")
		if ! "$@" "$go_new"; then
			rm -rf "$go_new"
			return 1
		fi
		chmod 755 "$go_new"
		mv -T "$go_new" "$go_made" 2>/dev/null || rm -rf "$go_new"
	fi
	touch "$go_made"
	for go_program in "$go_made"/*; do
		go_new=$go_into/.new-$$
		# a hard link where it can be: a plane is 100 MB
		cp -pl "$go_program" "$go_new" 2>/dev/null || cp -p "$go_program" "$go_new" || return 1
		# a link that is there already is the same file, which mv refuses
		[ "$go_new" -ef "$go_into/${go_program##*/}" ] || mv "$go_new" "$go_into/${go_program##*/}" || return 1
		rm -f "$go_new"
	done
}
