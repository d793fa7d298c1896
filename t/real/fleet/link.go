// SPDX-License-Identifier: Apache-2.0

// `fleet link`: another address of a plane's API server. A test that ends it ends the connections
// through it, and no others: the plane itself goes on.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
)

func cmdLink(args []string) error {
	fs := newFlags("link")
	dir := fs.String("dir", os.Getenv("MK_REAL_DIR"), "directory of the fleet")
	plane := fs.String("plane", "", "name of the plane")
	port := fs.Int("port", 0, "where it is found as well")
	_ = fs.Parse(args)
	if *dir == "" || *plane == "" || *port == 0 {
		return errors.New("link needs --dir, --plane and --port")
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(*dir, *plane, "kubeconfig"))
	if err != nil {
		return err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		return err
	}
	ctx, stop := signals()
	defer stop()
	context.AfterFunc(ctx, func() { listener.Close() })
	for {
		near, err := listener.Accept()
		if err != nil {
			return nil
		}
		go forward(near, server.Host)
	}
}

// forward ends both connections when one of them ends.
func forward(near net.Conn, to string) {
	defer near.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
