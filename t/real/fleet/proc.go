// SPDX-License-Identifier: Apache-2.0

// Child processes: started in process groups of their own, so that a Ctrl-C at the terminal reaches
// only fleet, which then ends them in the right order. Their pids are also written to files, for
// `fleet down` after `fleet run --keep`.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

type proc struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended and was reaped
}

// procs is every process of this fleet, oldest first.
type procs struct {
	mu   sync.Mutex
	list []*proc
	dir  string
	keep bool
}

// start runs a server whose output goes to DIR/plane/name.log.
func (ps *procs) start(plane, name string, env []string, argv ...string) (*proc, error) {
	dir := filepath.Join(ps.dir, plane)
	p := &proc{name: plane + "/" + name, log: filepath.Join(dir, name+".log"),
		done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout = out
	p.cmd.Stderr = out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !ps.keep {
		p.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	ps.list = append(ps.list, p)
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	if err := remember(dir, name, p.cmd); err != nil {
		return p, err
	}
	return p, os.WriteFile(filepath.Join(dir, name+".pid"), []byte(pid+"\n"), 0o644)
}

// await polls ready until it succeeds; it fails at once when the process has ended.
func (p *proc) await(ctx context.Context, what string, limit time.Duration,
	ready func() error) error {
	begin := time.Now()
	told := begin
	for {
		last := ready()
		if last == nil {
			say("%s: %s after %.1f s", p.name, what, time.Since(begin).Seconds())
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return fmt.Errorf("%s ended (%v) before it was %s\n%s", p.name,
				p.cmd.ProcessState, what, tail(p.log, 15))
		case <-time.After(200 * time.Millisecond):
		}
		if time.Since(begin) > limit {
			return fmt.Errorf("%s not %s after %v: %w\n%s", p.name, what, limit, last,
				tail(p.log, 15))
		}
		if time.Since(told) > 5*time.Second {
			told = time.Now()
			say("%s: still waiting to be %s", p.name, what)
		}
	}
}

// killAll ends the newest first, so that nothing reconnects to what is already
// gone. SIGKILL, because kube-apiserver takes up to a minute to leave its watches
// and nothing here is worth saving.
func (ps *procs) killAll() error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var errs []error
	for i := len(ps.list) - 1; i >= 0; i-- {
		p := ps.list[i]
		_ = p.cmd.Process.Kill()
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
			errs = append(errs, fmt.Errorf("%s did not end", p.name))
		}
	}
	ps.list = nil
	killed, err := killByPidFiles(ps.dir)
	errs = append(errs, err)
	for _, name := range killed {
		// A process of a plane that `fleet start` brought back belongs there;
		// anything else was for its test to end.
		if _, err := os.Stat(filepath.Join(ps.dir, name+".cmdline")); err != nil {
			errs = append(errs, fmt.Errorf("%s was left by its test", name))
		}
	}
	return errors.Join(errs...)
}

// cmdDown ends the processes that an earlier `run --keep` left in a directory, and removes it.
func cmdDown(args []string) error {
	fs := newFlags("down")
	dir := fs.String("dir", "", "directory of the fleet")
	_ = fs.Parse(args)
	if *dir == "" {
		return errors.New("--dir is needed")
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	if files, _ := filepath.Glob(filepath.Join(abs, "*", "*.pid")); len(files) == 0 {
		return fmt.Errorf("no fleet in %s", abs)
	}
	killed, err := killByPidFiles(abs)
	if err != nil {
		return err
	}
	say("ended %d processes of %s", len(killed), abs)
	return removeSoon(abs)
}

// killByPidFiles kills what DIR/*/NAME.pid names, as long as it runs in the directory of
// its file: a pid may have been given to another process since. It returns the paths
// below DIR, without the ending.
func killByPidFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.pid"))
	if err != nil {
		return nil, err
	}
	var killed []string
	for _, f := range files {
		pid, err := readPid(f)
		if err == nil && pid > 1 && workingDir(pid) == filepath.Dir(f) &&
			syscall.Kill(pid, syscall.SIGKILL) == nil {
			name, _ := filepath.Rel(dir, strings.TrimSuffix(f, ".pid"))
			killed = append(killed, name)
		}
	}
	return killed, nil
}

// removeSoon removes a tree into which a killed process may still be writing its last bytes.
func removeSoon(dir string) error {
	var err error
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func readPid(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

func workingDir(pid int) string {
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return dir
}

func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "  " + strings.Join(lines, "\n  ")
}
