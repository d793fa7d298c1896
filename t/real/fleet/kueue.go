// SPDX-License-Identifier: Apache-2.0

// Kueue beside a plane rather than inside it: its manifests name a Service for every webhook, which
// becomes a URL on 127.0.0.1 here.

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kueue reads this pair at start when it does not manage certificates itself; no option moves it.
const metricsCertDir = "/etc/kueue/metrics/certs"

// hookKinds are the ends of the paths of those webhooks whose kinds are served and enabled here:
// Kueue's own and batch/job; and those of kinds.t, which no other test makes.
var hookKinds = []string{
	"-workload", "-clusterqueue", "-cohort", "-resourceflavor", "-localqueue", "-batch-v1-job",
	"-jobset", "-v1-pytorchjob", "-v2beta1-mpijob", "-raycluster", "-appwrapper", "-trainjob",
}

func (p *plane) gates() string {
	if p.manager {
		return "MultiKueue=false,VisibilityOnDemand=false"
	}
	return "VisibilityOnDemand=false"
}

func (p *plane) startKueue(ctx context.Context) error {
	serving, err := p.ca.issueServer("kueue")
	if err != nil {
		return err
	}
	if err := serving.write(p.path("webhook"), "tls.crt", "tls.key"); err != nil {
		return err
	}
	err = p.create(ctx, []byte("{kind: Namespace, apiVersion: v1, metadata: {name: kueue-system}}"), nil)
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
clientConnection: {qps: 500, burst: 1000}
integrations: {frameworks: [batch/job]}
resources: {deviceClassMappings: [{name: example.com/gpu, deviceClassNames: [gpu.example.com]}]}
`, p.ports.health, p.ports.webhook, p.path("webhook"))
	if err := os.WriteFile(p.path("kueue.yaml"), []byte(config), 0o644); err != nil {
		return err
	}
	proc, err := p.fleet.procs.start(p.name, "kueue",
		[]string{"KUBECONFIG=" + p.path("kueue.kubeconfig")}, p.fleet.kueue,
		"--config="+p.path("kueue.yaml"), "--feature-gates="+p.gates())
	if err != nil {
		return err
	}
	health := fmt.Sprintf("http://127.0.0.1:%d/readyz", p.ports.health)
	err = proc.await(ctx, "ready", readyLimit, func() error {
		return probe(http.DefaultClient, health)
	})
	if err != nil {
		return err
	}
	hooks, err := os.ReadFile(filepath.Join(p.fleet.kueueSource, "config/components/webhook/manifests.yaml"))
	if err != nil {
		return err
	}
	return p.create(ctx, hooks, func(o map[string]any) {
		list, _ := o["webhooks"].([]any)
		o["webhooks"] = slices.DeleteFunc(list, func(h any) bool { return !p.localiseHook(h) })
	})
}

// installCRDs installs Kueue's kinds; 'convert' is the client configuration of the webhook that
// converts between their versions, nil without one.
func (p *plane) installCRDs(ctx context.Context, convert map[string]any) error {
	raw, err := p.renderCRDs(ctx)
	if err != nil {
		return err
	}
	err = p.create(ctx, raw, func(o map[string]any) {
		spec, _ := o["spec"].(map[string]any)
		conversion, _ := spec["conversion"].(map[string]any)
		if hook, ok := conversion["webhook"].(map[string]any); !ok {
			return
		} else if convert == nil {
			delete(spec, "conversion")
		} else {
			hook["clientConfig"] = convert
		}
	})
	if err != nil {
		return err
	}
	// Kueue ends when a kind of its own is not served yet, and one that
	// is established may still not be.
	client, err := p.client()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(readyLimit); ; time.Sleep(200 * time.Millisecond) {
		for _, kind := range []string{"v1beta2/workloads", "v1beta2/localqueues", "v1beta2/multikueueclusters",
			"v1beta2/workloadpriorityclasses", "v1beta2/admissionchecks", "v1beta2/cohorts",
			"v1beta2/clusterqueues", "v1beta2/resourceflavors", "v1beta2/topologies"} {
			if err = probe(client, p.server()+"/apis/kueue.x-k8s.io/"+kind); err != nil {
				break
			}
		}
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}

// renderCRDs is done once for all planes of all fleets.
func (p *plane) renderCRDs(ctx context.Context) ([]byte, error) {
	rendered.Do(func() {
		rendered.crds, rendered.err = p.kubectl(ctx, nil, "kustomize",
			filepath.Join(p.fleet.kueueSource, "config/components/crd"))
	})
	return rendered.crds, rendered.err
}

var rendered struct {
	sync.Once
	crds []byte
	err  error
}

// localiseHook points one webhook at the local Kueue; false means that its kind is not served here.
func (p *plane) localiseHook(h any) bool {
	hook, _ := h.(map[string]any)
	client, _ := hook["clientConfig"].(map[string]any)
	service, _ := client["service"].(map[string]any)
	path, _ := service["path"].(string)
	for _, kind := range hookKinds {
		if strings.HasSuffix(path, kind) {
			hook["clientConfig"] = p.hookClient(path)
			return true
		}
	}
	return false
}

func (p *plane) hookClient(path string) map[string]any {
	return map[string]any{
		"url":      fmt.Sprintf("https://127.0.0.1:%d%s", p.ports.webhook, path),
		"caBundle": p.ca.pem, // encoding/json writes bytes as base64, as the API wants it
	}
}

// ensureMetricsCerts creates the one thing outside of our directories that Kueue insists on.
func ensureMetricsCerts() error {
	cert := filepath.Join(metricsCertDir, "tls.crt")
	key := filepath.Join(metricsCertDir, "tls.key")
	if readable(cert) && readable(key) {
		return nil
	}
	say("creating %s/tls.{crt,key}, which Kueue insists on; it is left there", metricsCertDir)
	ca, err := newAuthority("kueue-metrics")
	if err != nil {
		return err
	}
	p, err := ca.issueServer("kueue-metrics")
	if err != nil {
		return err
	}
	tmp := fmt.Sprintf(".%d", os.Getpid())
	err = p.write(metricsCertDir, "tls.crt"+tmp, "tls.key"+tmp)
	if err != nil {
		return fmt.Errorf("%w; Kueue reads a certificate there at start: make it readable, "+
			"or run this once as root", err)
	}
	return errors.Join(os.Rename(key+tmp, key), os.Rename(cert+tmp, cert))
}

func readable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
