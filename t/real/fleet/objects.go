// SPDX-License-Identifier: Apache-2.0

// Creating the first objects of a plane by plain requests: kubectl would ask for the whole OpenAPI
// document before each of them, which is most of what a plane costs to start.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"sigs.k8s.io/yaml"
)

// collections says where objects of a kind are created; %s is their namespace.
var collections = map[string]string{
	"Namespace":                      "/api/v1/namespaces",
	"ServiceAccount":                 "/api/v1/namespaces/%s/serviceaccounts",
	"CustomResourceDefinition":       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"MutatingWebhookConfiguration":   "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
	"ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
	"ClusterRole":                    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding":             "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"Role":                           "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"RoleBinding":                    "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
}

// post sends one object; the answer goes to ret, which may be nil. A server
// that still starts is asked again.
func (p *plane) post(ctx context.Context, path string, object, ret any) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	client.Timeout = 30 * time.Second
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(readyLimit); ; time.Sleep(200 * time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.server()+path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusCreated && ret != nil:
			return json.Unmarshal(answer, ret)
		case resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict:
			return nil
		case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests,
			time.Now().After(deadline):
			return fmt.Errorf("%s: POST %s: %s: %.300s", p.name, path, resp.Status, answer)
		}
	}
}

// create creates every object of a YAML stream, each as 'change' leaves it.
func (p *plane) create(ctx context.Context, stream []byte, change func(map[string]any)) error {
	for _, doc := range bytes.Split(stream, []byte("\n---\n")) {
		o := map[string]any{}
		if err := yaml.Unmarshal(doc, &o); err != nil {
			return err
		}
		if len(o) == 0 {
			continue
		}
		if change != nil {
			change(o)
		}
		kind, _ := o["kind"].(string)
		path, known := collections[kind]
		if !known {
			return fmt.Errorf("%s: no way to create a %s", p.name, kind)
		}
		meta, _ := o["metadata"].(map[string]any)
		if ns, ok := meta["namespace"].(string); ok {
			path = fmt.Sprintf(path, ns)
		}
		if err := p.post(ctx, path, o, nil); err != nil {
			return err
		}
	}
	return nil
}
