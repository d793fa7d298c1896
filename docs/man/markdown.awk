# SPDX-License-Identifier: Apache-2.0
# Markdown, as the pages of docs/ use it, to man(7): headings, paragraphs, lists, tables, code.
# A row of a table becomes a paragraph with its first cell as the tag. The last cell is the text;
# what stands between them is told with the headings of the columns.

# Text that roff takes for text.
function plain(s) {
	gsub(/\\/, "\\e", s)
	return s
}

# What is typed or read literally: hyphens and quotes stay what they are.
function literal(s) {
	s = plain(s)
	gsub(/-/, "\\-", s)
	gsub(/'/, "\\(aq", s)
	gsub(/`/, "\\(ga", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/~/, "\\(ti", s)
	return s
}

# [words](where) becomes the words, and the address with them if it is one of the web. Decisions
# are numbers in parentheses, which lead nowhere here.
function unlinked(s,   at, text, to) {
	gsub(/ *\(\[(decision )?[0-9][0-9][0-9][0-9]\]\([^)]*\)\)/, "", s)
	while (match(s, /\[[^]]*\]\([^)]*\)/)) {
		at = substr(s, RSTART, RLENGTH)
		text = substr(at, 2, index(at, "](") - 2)
		to = substr(at, index(at, "](") + 2)
		sub(/\)$/, "", to)
		s = substr(s, 1, RSTART - 1) text (to ~ /^https?:/ ? " <" to ">" : "") substr(s, RSTART + RLENGTH)
	}
	return s
}

# *Words* in italics; a star alone stays.
function slanted(s,   out) {
	while (match(s, /\*[A-Za-z][^*]*\*/)) {
		out = out substr(s, 1, RSTART - 1) "\\fI" substr(s, RSTART + 1, RLENGTH - 2) "\\fR"
		s = substr(s, RSTART + RLENGTH)
	}
	return out s
}

# Code in backticks, and **strong** words, in bold.
function inline(s,   out, i, n, part, strong, m, j) {
	s = unlinked(s)
	n = split(s, part, "`")
	for (i = 1; i <= n; i++) {
		if (i % 2 == 0) {
			out = out "\\fB" literal(part[i]) "\\fR"
			continue
		}
		m = split(plain(part[i]), strong, /\*\*/)
		for (j = 1; j <= m; j++)
			out = out (j % 2 == 0 ? "\\fB" strong[j] "\\fR" : slanted(strong[j]))
	}
	return out
}

# Lines of at most 78 bytes, none of which roff takes for a request.
function fill(s,   n, word, i, line) {
	n = split(s, word, /[ \t]+/)
	for (i = 1; i <= n; i++) {
		if (word[i] == "")
			continue
		if (line != "" && length(line) + 1 + length(word[i]) > 78) {
			said(line)
			line = ""
		}
		line = line == "" ? word[i] : line " " word[i]
	}
	if (line != "")
		said(line)
}

function said(line) {
	print (line ~ /^[.']/ ? "\\&" : "") line
}

# Behind a heading a paragraph begins by itself.
function paragraph() {
	if (!headed)
		print ".PP"
	headed = 0
}

function flush() {
	if (text != "") {
		if (!in_item)
			paragraph()
		fill(inline(text))
	}
	text = ""
	in_item = 0
}

# .TP and .IP end with the next .PP; code within a list does not.
function code_begin() {
	flush()
	paragraph()
	print ".RS 4\n.nf"
	in_code = 1
}

function code_end() {
	print ".fi\n.RE"
	in_code = 0
}

function code_line(line) {
	line = literal(line)
	said(line == "" ? "\\&" : line)
}

# The cells of a row in cell[]; a bar within backticks is no border.
function cells(row,   i, c, n, inside) {
	n = 1
	cell[1] = ""
	sub(/^\| */, "", row)
	sub(/ *\| *$/, "", row)
	for (i = 1; i <= length(row); i++) {
		c = substr(row, i, 1)
		if (c == "`")
			inside = !inside
		if (c == "|" && !inside)
			cell[++n] = ""
		else
			cell[n] = cell[n] c
	}
	for (i = 1; i <= n; i++)
		gsub(/^ +| +$/, "", cell[i])
	return n
}

function row(line,   n, i, more) {
	n = cells(line)
	headed = 0
	if (length(cell[1]) > 60) { # too long for a tag
		print ".IP \\(bu 2"
		fill(inline(cell[1]) ":")
		print ".br"
	} else {
		print ".TP"
		said(inline(cell[1]))
	}
	for (i = 2; i < n; i++)
		if (cell[i] != "")
			more = more (more == "" ? "" : "; ") "\\fI" plain(head[i]) "\\fR " inline(cell[i])
	if (more != "") {
		fill(more)
		if (cell[n] != "")
			print ".br"
	}
	fill(n > 1 && cell[n] != "" ? inline(cell[n]) : more != "" ? "" : "\\&")
}

/^ *```/ {
	if (fence)
		code_end()
	else
		code_begin()
	fence = !fence
	next
}
fence { code_line($0); next }
in_code && /^$/ { blank = 1; next }
in_code && !/^    / { code_end(); blank = 0 }
/^    / && (in_code || text == "") {
	if (!in_code)
		code_begin()
	if (blank)
		print "\\&"
	blank = 0
	code_line(substr($0, 5))
	next
}
/^\|/ {
	flush()
	if (!in_table) {
		n_head = cells($0)
		for (i = 1; i <= n_head; i++)
			head[i] = cell[i]
	} else if (in_table > 1) {
		row($0)
	}
	in_table++
	next
}
{ in_table = 0 }
/^#/ {
	flush()
	level = match($0, /[^#]/) - 1
	sub(/^#+ */, "")
	gsub(/`/, "")
	print (level > 2 ? ".SS \"" : ".SH \"") (level > 2 ? $0 : toupper($0)) "\""
	headed = 1
	next
}
/^$/ { flush(); next }
/^- / { flush(); print ".IP \\(bu 2"; headed = 0; in_item = 1; text = substr($0, 3); next }
/^[0-9]+\. / {
	flush()
	print ".IP " $1 " 4"
	headed = 0
	in_item = 1
	text = substr($0, length($1) + 2)
	next
}
{
	sub(/^ +/, "")
	text = text (text == "" ? "" : " ") $0
}
END {
	flush()
	if (in_code)
		code_end()
}
