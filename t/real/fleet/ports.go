// SPDX-License-Identifier: Apache-2.0

// Free ports below the ephemeral range. A port that was free when probed may be taken by the time a
// server binds it, so each one is also locked by a file: two fleets never choose the same.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

const (
	portFirst = 18000
	portEnd   = 32000
)

// portLocks keeps the lock files open, and so locked, until the process ends.
var portLocks []*os.File

// freePorts returns n ports that no process listens on and no other fleet has chosen.
func freePorts(n int) ([]int, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("multikueued-real-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var ports []int
	span := portEnd - portFirst
	start := rand.IntN(span)
	for i := 0; i < span && len(ports) < n; i++ {
		port := portFirst + (start+i)%span
		lock, err := lockPort(filepath.Join(dir, fmt.Sprint(port)))
		if err != nil {
			return nil, err
		}
		if lock == nil {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			lock.Close()
			continue
		}
		l.Close()
		portLocks = append(portLocks, lock)
		ports = append(ports, port)
	}
	if len(ports) < n {
		return nil, errors.New("no free ports between 18000 and 32000")
	}
	return ports, nil
}

// lockPort returns nil without an error when another fleet holds the port.
func lockPort(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// cmdPorts prints free ports for a server that a test is about to start.
func cmdPorts(args []string) error {
	fs := newFlags("ports")
	n := fs.Int("count", 1, "how many")
	_ = fs.Parse(args)
	ports, err := freePorts(*n)
	for _, p := range ports {
		fmt.Println(p)
	}
	return err
}
