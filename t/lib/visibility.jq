# SPDX-License-Identifier: Apache-2.0
# The faults of an answer of the visibility API by docs/visibility.schema.json ($schema), one a line:
# the words of JSON Schema that stand there; a member that the schema does not know is a fault, too.
def is_a($word):
	if $word == "integer" then type == "number" and . == floor else type == $word end;
def faults($s; $at):
	(if is_a($s.type) then empty else "\($at): expected \($s.type), found \(type)" end),
	(. as $v | select($s.enum and ($s.enum | index([$v]) | not)) | "\($at): found \($v)"),
	(. as $v | select(type == "object") | ($s.required // [])[] | select(. as $k | $v | has($k) | not) | "\($at)/\(.): missing"),
	(select(type == "object" and $s.properties) | to_entries[] | .key as $k |
		if $s.properties[$k] then .value | faults($s.properties[$k]; "\($at)/\($k)") else "\($at)/\($k): not known" end),
	(select(type == "array" and $s.items) | to_entries[] | .key as $i | .value | faults($s.items; "\($at)/\($i)"));
. as $answer | ($schema[0]["$defs"][$answer.kind] // error("no kind \($answer.kind)")) as $s | $answer | faults($s; "")
