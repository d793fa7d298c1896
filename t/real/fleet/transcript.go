// SPDX-License-Identifier: Apache-2.0

// `fleet transcript`: plays a list of API requests against one server and prints what came
// back, with everything that differs from run to run named instead of shown: a uid or
// resourceVersion appears as the name under which an earlier step saved it. Two servers that
// behave the same print the same.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// step is one request. In Path and Body {{x.uid}}, {{x.rv}}, {{x.continue}} stand for what the step
// saved as x returned.
type step struct {
	Name   string   `json:"name"`
	Do     string   `json:"do"`     // "METHOD /path?query"
	Type   string   `json:"type"`   // content type: json (default), merge, jsonpatch, apply, or literal
	Accept string   `json:"accept"` // default application/json
	Body   any      `json:"body"`
	Save   string   `json:"save"`
	Show   []string `json:"show"`  // dotted paths into the reply; "*" walks a list
	Watch  int      `json:"watch"` // frames to read; the reply is a stream
}

var contentTypes = map[string]string{
	"":          "application/json",
	"json":      "application/json",
	"merge":     "application/merge-patch+json",
	"jsonpatch": "application/json-patch+json",
	"apply":     "application/apply-patch+yaml",
}

type player struct {
	client *http.Client
	host   string
	vars   map[string]string // "x.uid" -> value
	order  []string          // names of vars, oldest first
	out    io.Writer
}

func cmdTranscript(args []string) error {
	fs := newFlags("transcript")
	kubeconfig := fs.String("kubeconfig", "", "the server and how to authenticate")
	script := fs.String("script", "", "YAML list of steps")
	_ = fs.Parse(args)
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	client.Timeout = 30 * time.Second
	data, err := os.ReadFile(*script)
	if err != nil {
		return err
	}
	var steps []step
	if err := yaml.UnmarshalStrict(data, &steps); err != nil {
		return err
	}
	p := &player{client: client, host: strings.TrimSuffix(config.Host, "/"),
		vars: map[string]string{}, out: os.Stdout}
	for _, s := range steps {
		if err := p.play(s); err != nil {
			return fmt.Errorf("step %q: %w", s.Name, err)
		}
	}
	return nil
}

func (p *player) play(s step) error {
	fmt.Fprintf(p.out, "## %s\n%s", s.Name, s.Do)
	resp, err := p.send(s)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if s.Watch > 0 && resp.StatusCode == http.StatusOK {
		fmt.Fprintf(p.out, " -> %d stream\n", resp.StatusCode)
		return p.frames(resp.Body, s)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var o any
	if json.Unmarshal(body, &o) != nil {
		o = string(body)
	}
	fmt.Fprintf(p.out, " -> %d", resp.StatusCode)
	if m, ok := o.(map[string]any); ok && m["kind"] == "Status" {
		fmt.Fprintf(p.out, " %v", m["reason"])
	}
	fmt.Fprintln(p.out)
	p.save(s.Save, o)
	p.show("  ", s.Show, o)
	return nil
}

func (p *player) send(s step) (*http.Response, error) {
	method, target, ok := strings.Cut(p.fill(s.Do), " ")
	if !ok {
		return nil, errors.New("`do` is not METHOD /path")
	}
	var body []byte
	switch b := s.Body.(type) {
	case nil:
	case string:
		body = []byte(b)
	default:
		body, _ = json.Marshal(b)
	}
	req, err := http.NewRequest(method, p.host+target, strings.NewReader(p.fill(string(body))))
	if err != nil {
		return nil, err
	}
	kind, known := contentTypes[s.Type]
	if !known {
		kind = s.Type
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("Accept", "application/json")
	if s.Accept != "" {
		req.Header.Set("Accept", s.Accept)
	}
	for range 10 {
		resp, err := p.client.Do(req)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		// The first request for a kind meets caches that still load.
		resp.Body.Close()
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		time.Sleep(time.Duration(max(after, 1)) * time.Second)
		req.Body, _ = req.GetBody()
	}
	return nil, errors.New("too many 429")
}

func (p *player) frames(body io.Reader, s step) error {
	in := bufio.NewScanner(body)
	in.Buffer(nil, 4<<20)
	for range s.Watch {
		if !in.Scan() {
			fmt.Fprintln(p.out, "  (end of stream)")
			return nil
		}
		var f struct {
			Type   string `json:"type"`
			Object any    `json:"object"`
		}
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		if err := d.Decode(&f); err != nil {
			return err
		}
		fmt.Fprintf(p.out, "  %s\n", f.Type)
		p.show("    ", s.Show, f.Object)
	}
	return nil
}

// fill puts saved values into a text.
func (p *player) fill(text string) string {
	for name, value := range p.vars {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	return text
}

func (p *player) save(name string, o any) {
	if name == "" {
		return
	}
	for field, path := range map[string]string{
		"uid": "metadata.uid", "rv": "metadata.resourceVersion", "continue": "metadata.continue",
	} {
		if v, ok := lookup(o, path).(string); ok {
			p.vars[name+"."+field] = v
		}
	}
	p.order = append(p.order, name)
}

func (p *player) show(indent string, paths []string, o any) {
	sortOwners(o)
	for _, path := range paths {
		v := lookup(o, path)
		text := "-"
		if v != nil {
			text = plain(p.normal(path[strings.LastIndexByte(path, '.')+1:], v))
		}
		fmt.Fprintf(p.out, "%s%s: %s\n", indent, path, text)
	}
}

// sortOwners orders managedFields by who owns them. The API server orders them by the second of
// their last write first, so two writes on either side of a second would show in another order.
func sortOwners(o any) {
	owners, ok := lookup(o, "metadata.managedFields").([]any)
	if !ok {
		return
	}
	key := func(i int) string {
		part := func(name string) string { s, _ := lookup(owners[i], name).(string); return s }
		return part("operation") + "\x00" + part("manager") + "\x00" + part("subresource")
	}
	sort.SliceStable(owners, func(i, j int) bool { return key(i) < key(j) })
}

// plain is compact JSON without the escapes that only a web page needs.
func plain(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}

var timeLike = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)

// normal replaces what differs between runs by names; 'key' is the field that holds the value.
func (p *player) normal(key string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range x {
			m[k] = p.normal(k, e)
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, e := range x {
			l[i] = p.normal(key, e)
		}
		return l
	case string:
		switch {
		case key == "uid" || strings.HasSuffix(key, "-uid"):
			return p.named("uid", x)
		case key == "resourceVersion":
			return p.named("rv", x)
		case timeLike.MatchString(x):
			return "<time>"
		}
	}
	return v
}

// named is the oldest saved name of a value, so that an unchanged one shows as unchanged.
func (p *player) named(field, value string) string {
	for _, name := range p.order {
		if p.vars[name+"."+field] == value {
			return "<" + field + " of " + name + ">"
		}
	}
	return "<new " + field + ">"
}

// lookup walks a dotted path; "*" collects from every element of a list; "\." is a dot in a key.
func lookup(o any, path string) any {
	if path == "" {
		return o
	}
	head, rest, _ := strings.Cut(strings.ReplaceAll(path, `\.`, "\x00"), ".")
	head = strings.ReplaceAll(head, "\x00", ".")
	rest = strings.ReplaceAll(rest, "\x00", `\.`)
	switch x := o.(type) {
	case map[string]any:
		e, ok := x[head]
		if !ok {
			return nil
		}
		return lookup(e, rest)
	case []any:
		if head == "*" {
			l := make([]any, len(x))
			for i, e := range x {
				l[i] = lookup(e, rest)
			}
			return l
		}
		if i, err := strconv.Atoi(head); err == nil && i >= 0 && i < len(x) {
			return lookup(x[i], rest)
		}
	}
	return nil
}
