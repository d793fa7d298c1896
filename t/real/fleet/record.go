// SPDX-License-Identifier: Apache-2.0

// `fleet record`: the joint history of all clusters. Every state of each Job and Workload in one
// namespace, of every plane, as lines of JSON in the order of their arrival; an API server that
// goes away is followed again when it is back. `fleet judge` reads it.

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// entry is one line. The first one, when everything is being followed, has
// the type READY and nothing else.
type entry struct {
	Time   time.Time       `json:"time"`
	Plane  string          `json:"plane,omitempty"`
	Type   string          `json:"type"`          // ADDED, MODIFIED, DELETED
	Gap    bool            `json:"gap,omitempty"` // states in between were not seen
	Object json.RawMessage `json:"object,omitempty"`
}

type recorder struct {
	mu  sync.Mutex
	out *bufio.Writer
	wg  sync.WaitGroup // of the first lists
}

// stream follows one kind on one plane.
type stream struct {
	*recorder
	plane, base string
	client      *http.Client
	known       map[string]known
	listed      bool
}

type known struct {
	version string
	object  json.RawMessage
}

func cmdRecord(args []string) error {
	fs := newFlags("record")
	dir := fs.String("dir", os.Getenv("MK_REAL_DIR"), "directory of the fleet")
	namespace := fs.String("namespace", "", "what to record")
	out := fs.String("out", "", "file of the history")
	_ = fs.Parse(args)
	if *dir == "" || *namespace == "" || *out == "" || fs.NArg() == 0 {
		return errors.New("record needs --dir, --namespace, --out and names of planes")
	}
	file, err := os.Create(*out)
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, stop := signals()
	defer stop()
	r := &recorder{out: bufio.NewWriter(file)}
	for _, plane := range fs.Args() {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(*dir, plane, "kubeconfig"))
		if err != nil {
			return err
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		for _, path := range []string{"/apis/batch/v1/namespaces/%s/jobs",
			"/apis/kueue.x-k8s.io/v1beta2/namespaces/%s/workloads"} {
			s := &stream{recorder: r, plane: plane, client: client, known: map[string]known{},
				base: config.Host + fmt.Sprintf(path, *namespace)}
			r.wg.Add(1)
			go s.follow(ctx)
		}
	}
	r.wg.Wait()
	r.emit(entry{Type: "READY"})
	<-ctx.Done()
	return nil
}

func (r *recorder) emit(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = time.Now().UTC()
	line, _ := json.Marshal(e)
	_, _ = r.out.Write(append(line, '\n'))
	_ = r.out.Flush()
}

func (s *stream) follow(ctx context.Context) {
	for ctx.Err() == nil {
		version, err := s.list(ctx)
		if err == nil {
			if !s.listed {
				s.listed = true
				s.wg.Done()
			}
			err = s.watch(ctx, version)
		}
		if err != nil && ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (s *stream) get(ctx context.Context, query string) (*json.Decoder, func() error, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+query, nil)
	if err != nil {
		return nil, nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, nil, errors.New(resp.Status)
	}
	return json.NewDecoder(resp.Body), resp.Body.Close, nil
}

type objectMeta struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// list reports what changed while no watch was open.
func (s *stream) list(ctx context.Context) (string, error) {
	d, done, err := s.get(ctx, "")
	if err != nil {
		return "", err
	}
	defer done()
	var list struct {
		objectMeta
		Items []json.RawMessage `json:"items"`
	}
	if err := d.Decode(&list); err != nil {
		return "", err
	}
	gone := s.known
	s.known = map[string]known{}
	for _, o := range list.Items {
		var m objectMeta
		if err := json.Unmarshal(o, &m); err != nil {
			return "", err
		}
		old, was := gone[m.Metadata.Name]
		delete(gone, m.Metadata.Name)
		s.known[m.Metadata.Name] = known{m.Metadata.ResourceVersion, o}
		if !was {
			s.emit(entry{Plane: s.plane, Type: "ADDED", Object: o})
		} else if old.version != m.Metadata.ResourceVersion {
			s.emit(entry{Plane: s.plane, Type: "MODIFIED", Gap: true, Object: o})
		}
	}
	for _, o := range gone {
		s.emit(entry{Plane: s.plane, Type: "DELETED", Object: o.object})
	}
	return list.Metadata.ResourceVersion, nil
}

func (s *stream) watch(ctx context.Context, version string) error {
	d, done, err := s.get(ctx, "?watch=1&resourceVersion="+version)
	if err != nil {
		return err
	}
	defer done()
	for {
		var e entry
		if err := d.Decode(&e); err != nil {
			return err
		}
		var m objectMeta
		if err := json.Unmarshal(e.Object, &m); err != nil || e.Type == "ERROR" {
			return fmt.Errorf("watch ended: %w", err)
		}
		if e.Type == "DELETED" {
			delete(s.known, m.Metadata.Name)
		} else {
			s.known[m.Metadata.Name] = known{m.Metadata.ResourceVersion, e.Object}
		}
		e.Plane = s.plane
		s.emit(e)
	}
}
