// SPDX-License-Identifier: Apache-2.0

// `fleet kill` and `fleet start`: one process of a plane ends and comes back as it was, for tests of
// what an outage does. Whatever was started last is what the end of the fleet takes down.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

type target struct{ dir, name string }

func parseTarget(cmd string, args []string) (*target, error) {
	fs := newFlags(cmd)
	dir := fs.String("dir", os.Getenv("MK_REAL_DIR"), "directory of the fleet")
	plane := fs.String("plane", "", "name of the plane")
	name := fs.String("process", "", "kube-apiserver, kueue, ...")
	_ = fs.Parse(args)
	if *dir == "" || *plane == "" || *name == "" {
		return nil, errors.New("--dir, --plane and --process are needed")
	}
	abs, err := filepath.EvalSymlinks(filepath.Join(*dir, *plane))
	return &target{abs, *name}, err
}

func (t *target) path(ext string) string { return filepath.Join(t.dir, t.name+ext) }

// alive is the pid of the process, or 0.
func (t *target) alive() int {
	pid, err := readPid(t.path(".pid"))
	if err != nil || workingDir(pid) != t.dir {
		return 0
	}
	return pid
}

// cmdKill remembers how the process was started before it kills it.
func cmdKill(args []string) error {
	t, err := parseTarget("kill", args)
	if err != nil {
		return err
	}
	pid := t.alive()
	if pid == 0 {
		return fmt.Errorf("%s does not run", t.name)
	}
	for _, what := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, what))
		if err == nil {
			err = os.WriteFile(t.path("."+what), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	for range 100 {
		if t.alive() == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s does not end", t.name)
}

// cmdStart starts what kill ended; with the process alive it does nothing. Its output goes where it went.
func cmdStart(args []string) error {
	t, err := parseTarget("start", args)
	if err != nil || t.alive() != 0 {
		return err
	}
	argv, err := t.words(".cmdline")
	if err != nil {
		return err
	}
	env, err := t.words(".environ")
	if err != nil {
		return err
	}
	out, err := os.OpenFile(t.path(".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = t.dir, env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	return os.WriteFile(t.path(".pid"), []byte(pid+"\n"), 0o644)
}

func (t *target) words(ext string) ([]string, error) {
	data, err := os.ReadFile(t.path(ext))
	if err != nil {
		return nil, fmt.Errorf("%s was not killed by fleet: %w", t.name, err)
	}
	var words []string
	for _, w := range bytes.Split(bytes.TrimRight(data, "\x00"), []byte{0}) {
		words = append(words, string(w))
	}
	return words, nil
}
