// SPDX-License-Identifier: Apache-2.0

// Kubectld is kubectl as a server: the tests ask hundreds of times a minute, and a kubectl of
// its own for each question costs a tenth of a second of CPU, most of it before the request
// is sent. It listens on a unix socket; a request carries the arguments, each ended by a NUL,
// one more NUL, and the standard input. 200 answers with what kubectl printed; 422 means that
// it failed, and X-Error says why.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// cobra keeps in a table of its own what completes the flags of every command that was ever made,
// and with that all a command holds: its flags, clients, and what it learnt of the API server's
// kinds. No shell completes anything here, and there is no other way to that table.
//
//go:linkname completions github.com/spf13/cobra.flagCompletionFunctions
var completions map[*pflag.Flag]cobra.CompletionFunc

//go:linkname completionsLock github.com/spf13/cobra.flagCompletionMutex
var completionsLock *sync.RWMutex

func forget() {
	completionsLock.Lock()
	defer completionsLock.Unlock()
	clear(completions)
}

// fatal is what a command panics with instead of ending the process.
type fatal struct {
	text string
	code int
}

// kubectl runs one command line; the error text is empty when it succeeded.
func kubectl(ctx context.Context, args []string, stdout io.Writer) (text string) {
	var stderr bytes.Buffer
	defer forget()
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fatal:
			if f.code != 0 {
				text = fmt.Sprintf("%s%s (code %d)", stderr.String(), f.text, f.code)
			}
		default:
			text = fmt.Sprint("panic: ", f)
		}
	}()
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: stdout, ErrOut: &stderr}
	command := cmd.NewKubectlCommand(cmd.KubectlOptions{
		IOStreams: streams,
		Arguments: append([]string{"kubectl"}, args...),
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).
			WithDiscoveryQPS(300),
	})
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(&stderr)
	command.SilenceErrors, command.SilenceUsage = true, true
	if err := command.ExecuteContext(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// keep writes the standard input of a command to a file.
func keep(data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(os.Args[1]), "input-")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	return f.Name(), errors.Join(err, f.Close())
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	head, stdin, ok := bytes.Cut(body, []byte("\x00\x00"))
	if err != nil || !ok {
		http.Error(w, "arguments are ended by NUL, all of them by one more", http.StatusBadRequest)
		return
	}
	args := strings.Split(string(head), "\x00")
	var out bytes.Buffer
	text := "cannot keep the input"
	if input, err := keep(stdin); err == nil {
		// For a file called "-" kubectl reads what the process has as standard input.
		for i, a := range args {
			if a == "-" {
				args[i] = input
			}
		}
		text = kubectl(r.Context(), args, &out)
		_ = os.Remove(input)
	}
	if text != "" {
		w.Header().Set("X-Error", strings.Join(strings.Fields(text), " "))
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_, _ = w.Write(out.Bytes())
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubectld SOCKET")
		os.Exit(2)
	}
	util.BehaviorOnFatal(func(text string, code int) { panic(fatal{text, code}) })
	listener, err := net.Listen("unix", os.Args[1])
	if err == nil {
		server := http.Server{Handler: http.HandlerFunc(serve), ReadHeaderTimeout: time.Minute}
		err = server.Serve(listener)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintf(os.Stderr, "kubectld: %v\n", err)
		os.Exit(1)
	}
}
