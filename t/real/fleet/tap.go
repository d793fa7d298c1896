// SPDX-License-Identifier: Apache-2.0

// Counts the results in a stream of TAP, for the one line at the end of a run.

package main

import (
	"bytes"
	"fmt"
)

type tapCount struct {
	part           []byte // the last line, while it has no end
	passed, failed int
	skipped        int
}

func (t *tapCount) Write(p []byte) (int, error) {
	t.part = append(t.part, p...)
	for {
		line, rest, found := bytes.Cut(t.part, []byte("\n"))
		if !found {
			return len(p), nil
		}
		t.line(line)
		t.part = rest
	}
}

func (t *tapCount) line(line []byte) {
	switch {
	case bytes.HasPrefix(line, []byte("not ok ")):
		t.failed++
	case bytes.HasPrefix(line, []byte("1..0 # SKIP")):
		t.skipped++
	case bytes.HasPrefix(line, []byte("ok ")):
		t.passed++
	}
}

// report prints the counts; a run that failed without a failed test (planes that did not come up, a
// test that died) counts as one.
func (t *tapCount) report(code int) {
	if code != 0 && t.failed == 0 {
		t.failed = 1
	}
	if t.skipped > 0 {
		fmt.Printf("%d test files skipped\n", t.skipped)
	}
	fmt.Printf("%d passed, %d failed\n", t.passed, t.failed)
}
