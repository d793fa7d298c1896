// SPDX-License-Identifier: Apache-2.0

// `fleet test`: tests side by side. Each slot is a fleet of its own, because Kueue and multikueued
// are one per manager; it takes the next file as long as there is one. Tests that only need the
// bare planes say so in a line "# planes: bare" and have a slot of their own. Results are shown as
// they come, behind the name of their test.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

type testFile struct {
	path, name string
	bare       bool
}

type suite struct {
	*options
	mu             sync.Mutex
	queue          []testFile
	out            io.Writer
	passed, failed int
	skipped        int
	errs           []error
}

func cmdTest(args []string) (int, error) {
	o, err := parseOptions("test", args)
	if err != nil {
		return 2, err
	}
	ctx, stop := signals()
	defer stop()
	s := &suite{options: o, out: os.Stdout}
	if err = s.load(); err == nil {
		err = ensureMetricsCerts()
	}
	if err == nil {
		s.run(ctx)
		err = errors.Join(s.errs...)
	}
	if (s.failed > 0 || err != nil) && o.logs != "" && ctx.Err() == nil {
		err = errors.Join(err, saveLogs(o.dir, o.logs))
	}
	err = errors.Join(err, removeSoon(o.dir))
	if ctx.Err() != nil {
		say("interrupted")
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "fleet: %v\n", err)
	}
	if (err != nil || ctx.Err() != nil) && s.failed == 0 {
		s.failed = 1
	}
	if s.skipped > 0 {
		fmt.Printf("%d test files skipped\n", s.skipped)
	}
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	return min(s.failed, 1), nil
}

// load reads what each file says about itself.
func (s *suite) load() error {
	for _, path := range s.args {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.queue = append(s.queue, testFile{path: path,
			name: strings.TrimSuffix(filepath.Base(path), ".t"),
			bare: bytes.Contains(text, []byte("\n# planes: bare\n"))})
	}
	once := s.queue
	for range s.repeat - 1 {
		s.queue = append(s.queue, once...)
	}
	return nil
}

// run starts the slots one after the other, so that the first one tests while the others still
// start.
func (s *suite) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i := range s.slots {
		f := newFleet(s.options, filepath.Join(s.dir, fmt.Sprint(i+1)))
		f.add(s.managers, plane{manager: true})
		f.add(s.workers, plane{})
		s.slot(ctx, cancel, f, false, &wg)
	}
	f := newFleet(s.options, filepath.Join(s.dir, "bare"))
	f.add(s.bare, plane{bare: true})
	s.slot(ctx, cancel, f, true, &wg)
	wg.Wait()
}

// slot brings a fleet up when there is something left for it, and lets it work in the background.
func (s *suite) slot(ctx context.Context, cancel func(), f *fleet, bare bool, wg *sync.WaitGroup) {
	if !s.left(bare) || ctx.Err() != nil {
		return
	}
	if err := f.up(ctx); err != nil {
		s.fail(err)
		cancel()
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			t, ok := s.next(bare)
			if !ok {
				break
			}
			s.test(ctx, f, t)
		}
		s.fail(f.procs.killAll())
	})
}

func (s *suite) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !errors.Is(err, context.Canceled) {
		s.errs = append(s.errs, err)
	}
}

func (s *suite) left(bare bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.queue {
		if t.bare == bare {
			return true
		}
	}
	return false
}

func (s *suite) next(bare bool) (testFile, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.queue {
		if t.bare == bare {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			return t, true
		}
	}
	return testFile{}, false
}

// test runs one file. One that dies, or counts otherwise than it
// planned, has failed whatever it said.
func (s *suite) test(ctx context.Context, f *fleet, t testFile) {
	begin := time.Now()
	tap := &tapFile{name: t.name, suite: s}
	code, err := f.command(ctx, []string{t.path}, tap)
	tap.end()
	if ctx.Err() != nil {
		return
	}
	s.fail(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if tap.skipped {
		s.skipped++
	} else if planned := tap.passed + tap.failed; tap.plan != planned || code != 0 && tap.failed == 0 {
		fmt.Fprintf(s.out, "%-10s not ok - ended with code %d, %d results, plan %d\n", t.name, code,
			planned, tap.plan)
		tap.failed++
	}
	s.passed += tap.passed
	s.failed += tap.failed
	fmt.Fprintf(s.out, "# %5.1fs %s: %d passed, %d failed in %.1f s\n", time.Since(started).Seconds(),
		t.name, tap.passed, tap.failed, time.Since(begin).Seconds())
}

// tapFile shows and counts what one test prints.
type tapFile struct {
	name           string
	suite          *suite
	part           []byte // the last line, while it has no end
	passed, failed int
	plan           int
	skipped        bool
}

func (t *tapFile) Write(p []byte) (int, error) {
	t.part = append(t.part, p...)
	for {
		line, rest, found := bytes.Cut(t.part, []byte("\n"))
		if !found {
			return len(p), nil
		}
		t.line(string(line))
		t.part = rest
	}
}

func (t *tapFile) end() {
	if len(t.part) > 0 {
		t.line(string(t.part))
		t.part = nil
	}
}

func (t *tapFile) line(line string) {
	switch {
	case strings.HasPrefix(line, "not ok "):
		t.failed++
	case strings.HasPrefix(line, "1..0 # SKIP"):
		t.skipped = true
	case strings.HasPrefix(line, "1.."):
		_, _ = fmt.Sscanf(line, "1..%d", &t.plan)
	case strings.HasPrefix(line, "ok "):
		t.passed++
	}
	t.suite.mu.Lock()
	defer t.suite.mu.Unlock()
	fmt.Fprintf(t.suite.out, "%-10s %s\n", t.name, line)
}
