# SPDX-License-Identifier: Apache-2.0
# A part of what --help prints, to Markdown: part=Usage, part=Options and so on are the lines below
# that heading; part=text is what stands before and between them. Options and commands become rows
# of a table, the rest stays as it is: indented lines are code.
function ended() {
	if (tag != "")
		print "| `" tag "` | " what " |"
	tag = what = ""
}

# The tag ends at two blanks; where it is too long for its column, behind the value in capitals.
function begun(line,   at) {
	ended()
	if (!n_rows++)
		print "\n| name | what |\n|---|---|"
	sub(/^ +/, "", line)
	at = match(line, /  /)
	if (!at && match(line, /^(-[a-zA-Z], )?--[a-z-]+( [A-Z][A-Z0-9=:|,]*)? /))
		at = RLENGTH
	tag = at ? substr(line, 1, at - 1) : line
	what = at ? substr(line, at) : ""
	sub(/^ +/, "", what)
}

FNR == 1 { now = "title"; next }
/^(Usage|Options|Commands|Examples):$/ { ended(); now = substr($0, 1, length($0) - 1); next }
/^Exit status: / { ended(); now = "Exit status"; sub(/^Exit status: /, "") }
/^$/ {
	ended()
	# A heading is over at the blank line behind it; the text of examples may have one.
	if (now != "Examples" && now != "Exit status")
		now = "text"
	if (part == now)
		print
	next
}
part != now { next }
part == "Usage" || part == "Examples" { sub(/^  /, "    "); print; next }
part == "Options" || part == "Commands" {
	if (/^ +-/ || (part == "Commands" && /^  [a-z]/))
		begun($0)
	else {
		sub(/^ +/, "")
		what = what " " $0
	}
	next
}
/^  / { print "  " $0; next }
{ print }
END { ended() }
