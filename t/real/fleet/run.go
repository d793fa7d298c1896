// SPDX-License-Identifier: Apache-2.0

// `fleet run`: planes up, one command with their addresses in its environment, planes down.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

type fleet struct {
	procs       *procs
	bin         string
	dir         string
	kueueSource string
	planes      []*plane
}

func (f *fleet) binary(name string) string { return filepath.Join(f.bin, name) }

type runOptions struct {
	bin, dir, logs, kueueSource string
	keep, tap                   bool
	managers, workers, bare     names
	command                     []string
}

func parseRun(args []string) (*runOptions, error) {
	var o runOptions
	fs := newFlags("run")
	fs.StringVar(&o.bin, "bin", "", "directory of the control plane binaries")
	fs.StringVar(&o.kueueSource, "kueue-source", "", "source directory of Kueue, for its manifests")
	fs.StringVar(&o.dir, "dir", "", "empty or new directory for all state (default: a temporary one)")
	fs.StringVar(&o.logs, "logs", "", "where the logs go when the command fails")
	fs.BoolVar(&o.keep, "keep", false, "leave everything running at the end")
	fs.BoolVar(&o.tap, "tap", false, "the command prints TAP: end with a line that counts it")
	fs.Var(&o.managers, "manager", "name of a plane whose Kueue runs without MultiKueue")
	fs.Var(&o.workers, "worker", "name of a plane with stock Kueue")
	fs.Var(&o.bare, "bare", "name of a plane with Kueue's CRDs but without controllers and Kueue")
	_ = fs.Parse(args)
	o.command = fs.Args()
	if o.bin == "" || o.kueueSource == "" || len(o.command) == 0 ||
		len(o.managers)+len(o.workers)+len(o.bare) == 0 {
		return nil, errors.New("run needs --bin, --kueue-source, a plane and a command")
	}
	return &o, nil
}

// cmdRun returns the exit code of the command. Its own error is printed here, because the counting
// line comes last.
func cmdRun(args []string) (int, error) {
	o, err := parseRun(args)
	if err != nil {
		return 2, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	defer stop()
	count := &tapCount{}
	code, err := runFleet(ctx, o, count)
	if ctx.Err() != nil {
		say("interrupted")
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "fleet: %v\n", err)
		code = max(code, 1)
	}
	if ctx.Err() != nil {
		code = 130
	}
	if o.tap {
		count.report(code)
	}
	return code, nil
}

func runFleet(ctx context.Context, o *runOptions, count *tapCount) (int, error) {
	f, err := newFleet(o)
	if err != nil {
		return 1, err
	}
	code := 1
	if err = ensureMetricsCerts(); err == nil {
		err = f.up(ctx)
	}
	if err == nil {
		code, err = f.command(ctx, o.command, count)
	}
	if o.keep && ctx.Err() == nil {
		f.explain()
		return code, err
	}
	if (code != 0 || err != nil) && o.logs != "" && ctx.Err() == nil {
		err = errors.Join(err, f.saveLogs(o.logs))
	}
	say("taking %d planes down", len(f.planes))
	return code, errors.Join(err, f.procs.killAll(), removeSoon(f.dir))
}

func newFleet(o *runOptions) (*fleet, error) {
	dir := o.dir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "multikueued-real-")
		if err != nil {
			return nil, err
		}
		dir = tmp
	} else if old, _ := os.ReadDir(dir); len(old) > 0 {
		return nil, fmt.Errorf("%s is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	f := &fleet{procs: &procs{dir: dir, keep: o.keep}, bin: bin, dir: dir,
		kueueSource: o.kueueSource}
	add := func(list names, kind plane) {
		for _, n := range list {
			p := kind
			p.name, p.fleet, p.dir = n, f, filepath.Join(dir, n)
			f.planes = append(f.planes, &p)
		}
	}
	add(o.managers, plane{manager: true})
	add(o.workers, plane{})
	add(o.bare, plane{bare: true})
	return f, nil
}

// up starts all planes at once; the first failure stops the others.
func (f *fleet) up(ctx context.Context) error {
	say("starting %d planes in %s", len(f.planes), f.dir)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(f.planes))
	for i, p := range f.planes {
		wg.Go(func() {
			if errs[i] = p.up(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// command runs the tests; when we are told to end they get SIGTERM, all of their process group, and
// have a while to clean up.
func (f *fleet) command(ctx context.Context, argv []string, count *tapCount) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, io.MultiWriter(os.Stdout, count), os.Stderr
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	cmd.Env = append(os.Environ(), "MK_REAL_DIR="+f.dir, "KUBECTL="+f.binary("kubectl"),
		"FLEET="+self)
	err = cmd.Run()
	if cmd.Process != nil {
		endGroup(cmd.Process.Pid)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

// endGroup waits for what the command left in its process group: a test that was told to end still
// cleans up when prove itself is gone already. It is killed when it takes too long.
func endGroup(pgid int) {
	for range 200 {
		if syscall.Kill(-pgid, 0) == syscall.ESRCH {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
}

// explain tells how to use a fleet that stays.
func (f *fleet) explain() {
	self, _ := os.Executable()
	fmt.Printf("\nThe planes keep running. Try:\n")
	for _, p := range f.planes {
		fmt.Printf("  %s --kubeconfig %s get workloads -A\n", f.binary("kubectl"),
			p.path("kubeconfig"))
	}
	fmt.Printf("To run a test again:\n  MK_REAL_DIR=%s KUBECTL=%s FLEET=%s prove -v t/real/planes.t\n",
		f.dir, f.binary("kubectl"), self)
	fmt.Printf("Logs and audit logs are in %s/*/*.log. To end them and remove it all:\n"+
		"  %s down --dir %s\n", f.dir, self, f.dir)
}

// saveLogs moves the logs of a failed run to a place that outlives it.
func (f *fleet) saveLogs(to string) error {
	files, err := filepath.Glob(filepath.Join(f.dir, "*", "*.log"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for _, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		plane := filepath.Base(filepath.Dir(from))
		if err := os.MkdirAll(filepath.Join(to, plane), 0o755); err != nil {
			return err
		}
		err = os.WriteFile(filepath.Join(to, plane, filepath.Base(from)), data, 0o644)
		if err != nil {
			return err
		}
	}
	say("logs of %d processes are in %s", len(files), to)
	return nil
}
