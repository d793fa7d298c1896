// SPDX-License-Identifier: Apache-2.0

// `fleet kubelet`: plays the kubelets of planes. A pod runs at once and succeeds
// after a while; nothing is started.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type kubelet struct {
	base     string
	client   *http.Client
	min, max time.Duration
	mu       sync.Mutex
	seen     map[string]bool // uid
}

type podEvent struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
			UID       string `json:"uid"`
		} `json:"metadata"`
		Spec struct {
			SchedulingGates []any `json:"schedulingGates"`
		} `json:"spec"`
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	} `json:"object"`
}

func cmdKubelet(args []string) error {
	fs := newFlags("kubelet")
	dir := fs.String("dir", os.Getenv("MK_REAL_DIR"), "directory of the fleet")
	lo := fs.Duration("min", 500*time.Millisecond, "a pod runs at least so long")
	hi := fs.Duration("max", 3*time.Second, "and at most so long")
	_ = fs.Parse(args)
	if *dir == "" || fs.NArg() == 0 || *hi < *lo {
		return errors.New("kubelet needs --dir, names of planes and --min <= --max")
	}
	ctx, stop := signals()
	defer stop()
	for _, plane := range fs.Args() {
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(*dir, plane, "kubeconfig"))
		if err != nil {
			return err
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return err
		}
		go (&kubelet{base: config.Host, client: client, min: *lo, max: *hi,
			seen: map[string]bool{}}).run(ctx)
	}
	<-ctx.Done()
	return nil
}

// run begins anew, with everything that is there, whenever its watch ends.
func (k *kubelet) run(ctx context.Context) {
	for ctx.Err() == nil {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, k.base+"/api/v1/pods?watch=1", nil)
		resp, err := k.client.Do(req)
		if err == nil {
			d := json.NewDecoder(resp.Body)
			for err == nil {
				var e podEvent
				if err = d.Decode(&e); err == nil {
					k.pod(ctx, &e)
				}
			}
			resp.Body.Close()
		}
		if ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func (k *kubelet) pod(ctx context.Context, e *podEvent) {
	m := &e.Object.Metadata
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Type == "DELETED" {
		delete(k.seen, m.UID)
		return
	}
	phase := e.Object.Status.Phase
	if k.seen[m.UID] || len(e.Object.Spec.SchedulingGates) > 0 || phase == "Succeeded" || phase == "Failed" {
		return
	}
	k.seen[m.UID] = true
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/status", m.Namespace, m.Name)
	go func() {
		k.phase(ctx, path, "Running")
		select {
		case <-ctx.Done():
		case <-time.After(k.min + rand.N(k.max-k.min+1)):
			k.phase(ctx, path, "Succeeded")
		}
	}()
}

func (k *kubelet) phase(ctx context.Context, path, phase string) {
	body := fmt.Appendf(nil, `{"status":{"phase":%q}}`, phase)
	for range 5 {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPatch, k.base+path, bytes.NewReader(body))
		req.Header.Set("Content-Type", "application/merge-patch+json")
		resp, err := k.client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
