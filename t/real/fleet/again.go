// SPDX-License-Identifier: Apache-2.0

// `fleet kill` and `fleet start`: one process of a plane ends and comes back as it was, for tests
// of what an outage does. Whatever was started last is what the end of the fleet takes down.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

// remember keeps how a process is started next to its pid: it may also end by itself, as Kueue does
// when it cannot renew its Lease, and start brings it back then too.
func remember(dir, name string, cmd *exec.Cmd) error {
	for ext, words := range map[string][]string{".cmdline": cmd.Args, ".environ": cmd.Env} {
		data := []byte(strings.Join(words, "\x00") + "\x00")
		if err := os.WriteFile(filepath.Join(dir, name+ext), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func cmdKill(args []string) error {
	t, err := parseTarget("kill", args)
	if err != nil {
		return err
	}
	pid := t.alive()
	if pid == 0 {
		return fmt.Errorf("%s does not run", t.name)
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

// cmdStart starts what has ended; with the process alive it does nothing.
// Its output goes where it went.
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
		return nil, fmt.Errorf("%s is not a process of this plane: %w", t.name, err)
	}
	var words []string
	for _, w := range bytes.Split(bytes.TrimRight(data, "\x00"), []byte{0}) {
		words = append(words, string(w))
	}
	return words, nil
}
