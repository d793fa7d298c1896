#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What readers read: the pages that a repository has to have, the length of lines,
# references that lead nowhere, words without an actor, file names that exist, and the list
# "Where is" of CONTRIBUTING.md.
#
# A page is checked without its code blocks, a source for its comments alone. To check the comments
# of a folder, add it to 'sources'.
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=t/lint/findings.sh
. t/lint/findings.sh
sources='core adapters plugins sdk t'

git ls-files --cached --others --exclude-standard -- '*.md' | sort >"$tmp/pages"
# shellcheck disable=SC2086
[ -z "$sources" ] || git ls-files --cached --others --exclude-standard -- $sources |
	grep -E '\.([ch]|sh|t)$' | grep -v '^t/abi/1\.' | sort >"$tmp/sources" # those are frozen

# One line "FILE:LINE:text" for each line of prose. Tables of pages begin with |,
# indented code with four blanks.
{
	xargs awk '
		FNR == 1 { fence = 0 }
		/^ *```/ { fence = !fence; next }
		!fence && !/^(    |\t)/ { print FILENAME ":" FNR ":" $0 }' <"$tmp/pages"
	[ ! -s "$tmp/sources" ] || xargs awk '
		FNR == 1 { inside = 0; c = FILENAME ~ /\.[ch]$/ }
		!c && /^[ \t]*#/ && FNR > 2 { print FILENAME ":" FNR ":" $0 }
		c && (inside || /\/\*/) { print FILENAME ":" FNR ":" $0; inside = !/\*\// }' <"$tmp/sources"
} >"$tmp/prose"
# The same without tables, and without what stands in backticks: names, commands and messages are
# quoted as they are. Sources quote with ' and ".
grep -vE '^[^:]*\.md:[0-9]*:\|' "$tmp/prose" | sed -E 's/`[^`]*`/`…`/g' >"$tmp/plain"
sed -E 's/`[^`]*`/`…`/g' "$tmp/prose" >"$tmp/all"
[ "$(wc -l <"$tmp/plain")" -gt 500 ] || echo "only $(wc -l <"$tmp/plain") lines of prose: is the filter right?" >"$tmp/findings"

for f in README.md LICENSE CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/style.md docs/architecture.md \
	docs/decisions/README.md; do
	[ -s "$f" ] || echo "$f is missing"
	[ "$f" = README.md ] || grep -q "]($f)" README.md || echo "README.md does not lead to $f"
done >>"$tmp/findings"
grep -qs 'Version 2.0, January 2004' LICENSE || echo "LICENSE is not the text of Apache-2.0" >>"$tmp/findings"
grep -q "^## \[$(cat VERSION)\]" CHANGELOG.md || echo "CHANGELOG.md has no section for VERSION" >>"$tmp/findings"
check "the pages that a repository has to have"

for f in docs/decisions/[0-9]*.md; do
	sed -n 3p "$f" | grep -q '^\*\*Decided:\*\* ' || echo "$f: its third line does not say what was decided"
	grep -q "^| \[$(basename "$f" | cut -c1-4)\]($(basename "$f")) | .* | .* |\$" docs/decisions/README.md || echo "$f: no row in the index"
done >"$tmp/findings"
check "each decision says what was decided, and stands in the index"

# Tables cannot be broken; neither can a line that is one long link.
grep -vE '^[^:]*\.md:[0-9]*:\|' "$tmp/prose" | sed -E 's/^([^:]*:[0-9]*):/\1\t/' |
	LC_ALL=C.UTF-8 grep -E '	.{101,}' | cut -f1 | sed 's/$/: longer than 100 columns/' >"$tmp/findings"
check "lines of at most 100 columns"

# References to what the reader has not got.
# The sign of a section: our pages are linked by their headings, others by name.
elsewhere='§'
# Numbers of sections in parentheses, `(2.7)` or `(4.2.1, step 3)`: no
# page here has numbered sections.
elsewhere="$elsewhere|\\([0-9]{1,2}(\\.[0-9]{1,2})+(,[^)]*)?\\)"
# The same behind a word: `section 4.7`, `chapter 2`, `appendix B`. "Section" of
# a configuration has no number.
elsewhere="$elsewhere|\\b([Ss]ection|[Cc]hapter|[Aa]ppendix) ([0-9]|[A-Z]\\b)"
# Codes of lists kept elsewhere: `A6`, `D10`, `P6`, `E7`, `F45`. The rows of
# docs/conformance.md have a hyphen: `W-E4`.
elsewhere="$elsewhere|(^|[^-A-Za-z0-9_.\`/])[ADEFP][0-9]{1,2}([^-A-Za-z0-9_.\`/]|\\.?\$)"
# Pages by what they are about, when they are not here.
elsewhere="$elsewhere|\\bthe (reliability|design|study|vocabulary|requirements) (page|paper|document|file)|\\b(the|its|our) specification\\b"
elsewhere="$elsewhere|\\b(design|reliability-performance|engine-vocabulary|seeds)\\.md"
# Numbers of issues: the tracker is not part of the repository, and words last longer.
elsewhere="$elsewhere|\\b[Ii]ssues? #?[0-9]"
# A table's cells may be codes: rows and situations are named there.
{
	grep -E "^[^:]*:[0-9]*:.*($elsewhere)" "$tmp/plain"
	grep -E '^[^:]*\.md:[0-9]*:\|' "$tmp/all" | grep -E '§|\([0-9]{1,2}(\.[0-9]{1,2})+\)|\bthe (reliability|design) page'
} >"$tmp/findings"
check "no reference to a document that is not here"

# Who acts? The daemon, Kueue, a user, an operator, a controller: docs/style.md.
grep -E '\b([Pp]eople|[Ss]omebody|[Ss]omeone|[Aa]nybody|[Aa]nyone|[Ee]verybody|[Ww]hoever|[Nn]obody)\b' "$tmp/all" >"$tmp/findings"
check "no word that leaves open who acts"

# A name in backticks with a folder of ours before it; what follows a blank or a colon is no name.
# NAME, NNNN, <name> and {a,b} stand for many.
grep -oE '^[^:]*:[0-9]*:|`(core|adapters|plugins|sdk|conf|docs|t)/[^` :]*' "$tmp/prose" |
	awk '/^`/ { print at substr($0, 2); next } { at = $0 }' | grep -vE '[<>{}]|NAME|NNNN|…' | sort -u |
	while IFS=: read -r page line path; do
		path=${path%[.,;]}
		# shellcheck disable=SC2086
		ls -d $path >/dev/null 2>&1 || ls -d ${path%/}.* >/dev/null 2>&1 || echo "$page:$line: $path is not there"
	done >"$tmp/findings"
# The guides make files of their own.
git ls-files --cached --others --exclude-standard | sed 's|.*/||' | sort -u >"$tmp/files"
grep -vE '^docs/write-' "$tmp/prose" | grep -oE '^[^:]*:[0-9]*:|`[a-z0-9_]+\.(c|h|t|sh)`' |
	awk '/^`/ { gsub(/`/, ""); print $0 "\t" at; next } { at = $0 }' | sort -u >"$tmp/named"
cut -f1 "$tmp/named" | sort -u | comm -23 - "$tmp/files" | while read -r name; do
	grep "^$name	" "$tmp/named" | sed 's/\(.*\)	\(.*\)/\2 \1 is not there/'
done >>"$tmp/findings"
check "each file that is named exists"

# What a merge leaves where it found two versions.
xargs grep -nE '^(<<<<<<<|=======|>>>>>>>)( |$)' <"$tmp/pages" >"$tmp/findings"
check "no page has the marks of a merge"

# Text with ": " in it needs quotes: without them it is another mapping, which no parser takes.
git ls-files conf | grep '\.yaml$' | xargs grep -nE '^[- ]*[A-Za-z]+: [^]["'\''{}|>&*#].*: ' >"$tmp/findings"
check "YAML of conf/: text with a colon is quoted"

# | behaviour | `grep ...` | `function()` |: the command finds a file that has the function.
sed -n '/^## Where is/,/^## /s/^| .* | `\(grep -rnw\{0,1\} [^`|;&$]*\)` | `\([a-z_0-9]*\)()` |$/\1;\2/p' CONTRIBUTING.md >"$tmp/where"
{
	[ "$(wc -l <"$tmp/where")" -ge 12 ] || echo "$(wc -l <"$tmp/where") rows, expected at least 12"
	while IFS=';' read -r command function; do
		found=$(eval "$command -l")
		# shellcheck disable=SC2086
		[ -n "$found" ] && grep -qE "^[a-z].*[ *]$function\\(" $found /dev/null || echo "$command: $function() is in none of: $found"
	done <"$tmp/where"
} >"$tmp/findings"
check "CONTRIBUTING.md: each behaviour is found"
done_testing
