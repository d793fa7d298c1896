// SPDX-License-Identifier: Apache-2.0

// `fleet run`: planes up, one command with their addresses in its environment, planes down.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// options are those of run and test.
type options struct {
	bin, kueue, kueueSource, dir, logs, rbac string
	keep                                     bool
	slots, repeat                            int
	managers, workers, bare                  names
	args                                     []string // the command, or the files of the tests
}

func parseOptions(cmd string, args []string) (*options, error) {
	var o options
	fs := newFlags(cmd)
	fs.StringVar(&o.bin, "bin", "", "directory of the control plane binaries")
	fs.StringVar(&o.kueue, "kueue", "", "the program Kueue")
	fs.StringVar(&o.kueueSource, "kueue-source", "", "source directory of Kueue, for its manifests")
	fs.StringVar(&o.rbac, "rbac", "", "directory of manager.yaml and worker.yaml: what multikueued may do")
	fs.StringVar(&o.dir, "dir", "", "empty or new directory for all state (default: a temporary one)")
	fs.StringVar(&o.logs, "logs", "", "where the logs go when the command fails")
	fs.BoolVar(&o.keep, "keep", false, "run: leave everything running at the end")
	fs.IntVar(&o.slots, "slots", 1, "test: how many fleets work side by side")
	fs.IntVar(&o.repeat, "repeat", 1, "test: how often each file runs")
	fs.Var(&o.managers, "manager", "name of a plane whose Kueue runs without MultiKueue")
	fs.Var(&o.workers, "worker", "name of a plane with stock Kueue")
	fs.Var(&o.bare, "bare", "name of a plane with Kueue's CRDs but without controllers and Kueue")
	_ = fs.Parse(args)
	o.args = fs.Args()
	if o.bin == "" || o.kueue == "" || o.kueueSource == "" || o.rbac == "" || len(o.args) == 0 || o.slots < 1 ||
		len(o.managers)+len(o.workers)+len(o.bare) == 0 {
		return nil, errors.New(cmd + " needs --bin, --kueue, --kueue-source, --rbac, a plane and something to run")
	}
	return &o, o.absolute()
}

// absolute makes paths independent of the working directory, and the directory of the state.
func (o *options) absolute() error {
	if o.dir == "" {
		tmp, err := os.MkdirTemp("", "multikueued-real-")
		if err != nil {
			return err
		}
		o.dir = tmp
	} else if old, _ := os.ReadDir(o.dir); len(old) > 0 {
		return fmt.Errorf("%s is not empty", o.dir)
	}
	// The tests below it put plugins there, which no other user may be able to change.
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(o.dir)
	if err != nil {
		return err
	}
	for _, p := range []*string{&dir, &o.bin, &o.kueue, &o.rbac} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	o.dir = dir
	return nil
}

// signals is a context that ends when we are told to.
func signals() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

// cmdRun returns the exit code of the command.
func cmdRun(args []string) (int, error) {
	o, err := parseOptions("run", args)
	if err != nil {
		return 2, err
	}
	ctx, stop := signals()
	defer stop()
	f := newFleet(o, o.dir)
	f.add(o.managers, plane{manager: true})
	f.add(o.workers, plane{})
	f.add(o.bare, plane{bare: true})
	code := 1
	if err = ensureMetricsCerts(); err == nil {
		err = f.up(ctx)
	}
	if err == nil {
		code, err = f.command(ctx, o.args, os.Stdout)
	}
	if o.keep && ctx.Err() == nil {
		f.explain()
		return code, err
	}
	if (code != 0 || err != nil) && o.logs != "" && ctx.Err() == nil {
		err = errors.Join(err, saveLogs(o.dir, o.logs))
	}
	say("taking %d planes down", len(f.planes))
	err = errors.Join(err, f.procs.killAll(), removeSoon(o.dir))
	if ctx.Err() != nil {
		say("interrupted")
		return 130, nil
	}
	return code, err
}

// fleet is a set of planes that a command uses together.
type fleet struct {
	*options
	procs  *procs
	dir    string
	planes []*plane
}

func newFleet(o *options, dir string) *fleet {
	return &fleet{options: o, dir: dir, procs: &procs{dir: dir, keep: o.keep}}
}

func (f *fleet) binary(name string) string { return filepath.Join(f.bin, name) }

func (f *fleet) add(list names, kind plane) {
	for _, n := range list {
		p := kind
		p.name, p.fleet, p.dir = n, f, filepath.Join(f.dir, n)
		f.planes = append(f.planes, &p)
	}
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
	return errors.Join(append(errs, f.startKubectl(ctx))...)
}

// startKubectl starts the kubectl of the tests, which is a server; see kubectld.
func (f *fleet) startKubectl(ctx context.Context) error {
	dir := filepath.Join(f.dir, "kubectl")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	socket := filepath.Join(dir, "socket")
	proc, err := f.procs.start("kubectl", "kubectld",
		[]string{"KUBECACHEDIR=" + filepath.Join(dir, "cache")}, f.binary("kubectld"), socket)
	if err != nil {
		return err
	}
	return proc.await(ctx, "ready", readyLimit, func() error {
		_, err := os.Stat(socket)
		return err
	})
}

// command runs something with the addresses of the planes in its environment; when we are told to
// end it gets SIGTERM, all of its process group, and has a while to clean up.
func (f *fleet) command(ctx context.Context, argv []string, out io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
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

// saveLogs copies the logs of a failed run to a place that outlives it.
func saveLogs(dir, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	n := 0
	err := filepath.WalkDir(dir, func(from string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(from) != ".log" {
			return err
		}
		name, err := filepath.Rel(dir, from)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		n++
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	say("%d logs are in %s", n, to)
	return err
}
