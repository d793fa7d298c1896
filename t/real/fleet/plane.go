// SPDX-License-Identifier: Apache-2.0

// One plane: certificates, etcd, kube-apiserver with an audit log, kube-controller-manager.

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// readyLimit is generous, because the machine may be busy with other things.
const readyLimit = 3 * time.Minute

type plane struct {
	name    string
	manager bool
	bare    bool // only the API server and Kueue's CRDs: only the test writes there
	fleet   *fleet
	dir     string
	ca      *authority
	ports   struct{ etcd, peer, api, webhook, health int }
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (p *plane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *plane) server() string { return fmt.Sprintf("https://127.0.0.1:%d", p.ports.api) }

// up starts everything of the plane and returns when Kueue there serves its webhooks.
func (p *plane) up(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return err
	}
	if err := p.startAPI(ctx); err != nil {
		return err
	}
	if p.bare {
		return p.installCRDs(ctx, nil)
	}
	if err := p.installCRDs(ctx, p.hookClient("/convert")); err != nil {
		return err
	}
	// After the kinds, which its garbage collector would otherwise look for only now and then.
	if err := p.startControllers(); err != nil {
		return err
	}
	if err := p.startKueue(ctx); err != nil {
		return err
	}
	return p.admitDaemon(ctx)
}

// admitDaemon gives multikueued what conf/rbac says and no more; its kubeconfig holds a token.
func (p *plane) admitDaemon(ctx context.Context) error {
	side := "worker.yaml"
	if p.manager {
		side = "manager.yaml"
	}
	rights, err := os.ReadFile(filepath.Join(p.fleet.rbac, side))
	if err != nil {
		return err
	}
	if err := p.create(ctx, rights, nil); err != nil {
		return err
	}
	var token struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	err = p.post(ctx, "/api/v1/namespaces/kueue-system/serviceaccounts/multikueued/token",
		map[string]any{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
			"spec": map[string]any{"expirationSeconds": 24 * 60 * 60}}, &token)
	if err != nil {
		return err
	}
	return p.writeUser("multikueued.kubeconfig", "multikueued", "token: "+token.Status.Token)
}

// prepare writes certificates, kubeconfigs and the audit policy.
func (p *plane) prepare() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	p.ports.etcd, p.ports.peer, p.ports.api = ports[0], ports[1], ports[2]
	p.ports.webhook, p.ports.health = ports[3], ports[4]
	if p.ca, err = newAuthority(p.name + "-ca"); err != nil {
		return err
	}
	signing, err := newSigningKey()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"ca.crt": p.ca.pem, "sa.key": signing, "audit-policy.yaml": []byte(auditPolicy),
	} {
		if err := os.WriteFile(p.path(name), data, 0o600); err != nil {
			return err
		}
	}
	serving, err := p.ca.issueServer("kube-apiserver")
	if err != nil {
		return err
	}
	if err := serving.write(p.dir, "apiserver.crt", "apiserver.key"); err != nil {
		return err
	}
	if err := p.prepareProxy(); err != nil {
		return err
	}
	// A user for each program, so that the audit log tells them apart whatever they call
	// themselves in User-Agent.
	for file, user := range map[string]string{
		"kubeconfig": "admin", "kcm.kubeconfig": "kcm", "kueue.kubeconfig": "kueue",
		"dispatcher.kubeconfig": "dispatcher", // of Kueue's own MultiKueue, towards a worker
	} {
		if err := p.writeKubeconfig(file, user); err != nil {
			return err
		}
	}
	return nil
}

// The common name of the API server's certificate as a client of such APIs.
const proxyName = "front-proxy-client"

// prepareProxy makes what the API server shows to the APIs behind its aggregation layer. The
// authority is one of its own: who has a certificate of it may speak for every user.
func (p *plane) prepareProxy() error {
	ca, err := newAuthority(p.name + "-front-proxy-ca")
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.path("front-proxy-ca.crt"), ca.pem, 0o600); err != nil {
		return err
	}
	client, err := ca.issueClient(proxyName)
	if err != nil {
		return err
	}
	return client.write(p.dir, "front-proxy.crt", "front-proxy.key")
}

func (p *plane) writeKubeconfig(file, user string) error {
	c, err := p.ca.issueClient(user, "system:masters")
	if err != nil {
		return err
	}
	b64 := base64.StdEncoding.EncodeToString
	return p.writeUser(file, user, fmt.Sprintf(
		"client-certificate-data: %s\n    client-key-data: %s", b64(c.cert), b64(c.key)))
}

// writeUser writes a kubeconfig whose user authenticates by 'how'.
func (p *plane) writeUser(file, user, how string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[4]s
  user:
    %[5]s
contexts:
- name: %[1]s
  context: {cluster: %[1]s, user: %[4]s}
current-context: %[1]s
`, p.name, p.server(), base64.StdEncoding.EncodeToString(p.ca.pem), user, how)
	return os.WriteFile(p.path(file), []byte(text), 0o600)
}

func (p *plane) startAPI(ctx context.Context) error {
	etcd := fmt.Sprintf("http://127.0.0.1:%d", p.ports.etcd)
	peer := fmt.Sprintf("http://127.0.0.1:%d", p.ports.peer)
	proc, err := p.fleet.procs.start(p.name, "etcd", nil, p.fleet.binary("etcd"),
		"--name="+p.name, "--data-dir=etcd", "--unsafe-no-fsync",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster="+p.name+"="+peer)
	if err != nil {
		return err
	}
	err = proc.await(ctx, "healthy", readyLimit, func() error {
		return probe(http.DefaultClient, etcd+"/health")
	})
	if err != nil {
		return err
	}
	proc, err = p.fleet.procs.start(p.name, "kube-apiserver", nil, p.fleet.binary("kube-apiserver"),
		"--etcd-servers="+etcd, "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", p.ports.api), "--permit-address-sharing=true",
		"--tls-cert-file=apiserver.crt", "--tls-private-key-file=apiserver.key",
		"--client-ca-file=ca.crt", "--authorization-mode=RBAC",
		"--service-account-key-file=sa.key", "--service-account-signing-key-file=sa.key",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--requestheader-client-ca-file=front-proxy-ca.crt",
		"--requestheader-allowed-names="+proxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=front-proxy.crt", "--proxy-client-key-file=front-proxy.key",
		"--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount",
		"--audit-policy-file=audit-policy.yaml", "--audit-log-path=audit.log")
	if err != nil {
		return err
	}
	client, err := p.client()
	if err != nil {
		return err
	}
	return proc.await(ctx, "ready", readyLimit, func() error {
		return probe(client, p.server()+"/readyz")
	})
}

func (p *plane) startControllers() error {
	_, err := p.fleet.procs.start(p.name, "kube-controller-manager", nil,
		p.fleet.binary("kube-controller-manager"),
		"--kubeconfig=kcm.kubeconfig", "--authentication-kubeconfig=kcm.kubeconfig",
		"--authorization-kubeconfig=kcm.kubeconfig", "--leader-elect=false", "--secure-port=0",
		"--use-service-account-credentials=false",
		"--service-account-private-key-file=sa.key", "--root-ca-file=ca.crt",
		"--controllers=job-controller,statefulset-controller,garbage-collector-controller,"+
			"namespace-controller,serviceaccount-controller")
	return err
}

// client authenticates as admin; the health endpoints refuse strangers until RBAC is in place.
func (p *plane) client() (*http.Client, error) {
	c, err := p.ca.issueClient("admin", "system:masters")
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(p.ca.cert)
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: pool, Certificates: []tls.Certificate{cert},
		}},
	}, nil
}

// kubectl runs one command against the plane, with data on its standard input.
func (p *plane) kubectl(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.fleet.binary("kubectl"),
		append([]string{"--kubeconfig", p.path("kubeconfig")}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+p.path("kubectl-cache"))
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: kubectl %v: %w: %s", p.name, args, err, stderr.String())
	}
	return out, nil
}

func probe(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, resp.Status, body)
	}
	return nil
}
