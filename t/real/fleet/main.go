// SPDX-License-Identifier: Apache-2.0

// Fleet brings real Kubernetes control planes up as plain processes on this machine, runs a command
// beside them and takes everything down again.
//
//	fleet run --bin DIR --kueue FILE [--dir DIR] [--keep] [--logs DIR] --manager NAME --worker NAME... -- CMD...
//	fleet test --bin DIR --kueue FILE [--slots N] [--logs DIR] --manager NAME --worker NAME... FILE...
//	fleet down --dir DIR
//	fleet audit --dir DIR --plane NAME [--user NAME] [--mutating] [--since TIME]
//	fleet kill|start [--dir DIR] --plane NAME --process NAME
//	fleet record --namespace NS --out FILE PLANE...
//	fleet judge [--alias NAME=PLANE] FILE
//	fleet kubelet [--min TIME] [--max TIME] PLANE...
//	fleet link --plane NAME --port N
//	fleet ports --count N
//	fleet transcript --kubeconfig FILE --script FILE
//
// A plane is etcd, kube-apiserver, kube-controller-manager and Kueue; beside each fleet runs
// kubectl as a server. Everything listens on 127.0.0.1 and keeps its state below one directory, so
// that any number of fleets can run at once.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

var started = time.Now()

// say prints a progress line; TAP consumers see it as a comment.
func say(format string, args ...any) {
	fmt.Printf("# %5.1fs %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	var err error
	code := 0
	switch os.Args[1] {
	case "run":
		code, err = cmdRun(os.Args[2:])
	case "test":
		code, err = cmdTest(os.Args[2:])
	case "down":
		err = cmdDown(os.Args[2:])
	case "audit":
		err = cmdAudit(os.Args[2:])
	case "transcript":
		err = cmdTranscript(os.Args[2:])
	case "record":
		err = cmdRecord(os.Args[2:])
	case "kubelet":
		err = cmdKubelet(os.Args[2:])
	case "judge":
		err = cmdJudge(os.Args[2:])
	case "kill":
		err = cmdKill(os.Args[2:])
	case "start":
		err = cmdStart(os.Args[2:])
	case "link":
		err = cmdLink(os.Args[2:])
	case "ports":
		err = cmdPorts(os.Args[2:])
	default:
		usage()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "fleet: %v\n", err)
		if code == 0 {
			code = 1
		}
	}
	os.Exit(code)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: fleet run|test|down|audit|kill|start|link|ports|record|judge|kubelet|transcript [options]; see the comment in main.go")
	os.Exit(2)
}

// names collects a flag that may be given several times.
type names []string

func (n *names) String() string { return fmt.Sprint(*n) }

func (n *names) Set(s string) error {
	*n = append(*n, s)
	return nil
}

func newFlags(name string) *flag.FlagSet {
	return flag.NewFlagSet("fleet "+name, flag.ExitOnError)
}
