// SPDX-License-Identifier: Apache-2.0

// `fleet audit`: one line per finished request from a plane's audit log, in order of arrival:
// time, user, verb, resource[/subresource] or path, namespace/name, status code, user agent.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

type auditEvent struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	URI       string `json:"requestURI"`
	Received  string `json:"requestReceivedTimestamp"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func cmdAudit(args []string) error {
	fs := newFlags("audit")
	dir := fs.String("dir", os.Getenv("MK_REAL_DIR"), "directory of the fleet")
	plane := fs.String("plane", "", "name of the plane")
	user := fs.String("user", "", "only requests of this user")
	mutating := fs.Bool("mutating", false, "only requests that may change something")
	since := fs.String("since", "", "only requests received at or after this RFC 3339 UTC time")
	_ = fs.Parse(args)
	if *dir == "" || *plane == "" {
		return errors.New("--dir and --plane are needed")
	}
	file, err := os.Open(filepath.Join(*dir, *plane, "audit.log"))
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 4<<20)
	userBytes := []byte(*user)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		// Most lines are of other users; taking them apart is what costs.
		if !bytes.Contains(in.Bytes(), userBytes) {
			continue
		}
		var e auditEvent
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			// The last line may still be in the middle of being written.
			continue
		}
		if !e.wanted(*user, *mutating) || e.Received < *since {
			continue
		}
		fmt.Fprintln(out, e.line())
	}
	return in.Err()
}

func (e *auditEvent) wanted(user string, mutating bool) bool {
	if user != "" && e.User.Username != user {
		return false
	}
	if mutating && slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
		return false
	}
	// A watch is logged when it starts and again when it ends; count the start.
	return e.Stage == "ResponseComplete" && e.Verb != "watch" ||
		e.Stage == "ResponseStarted" && e.Verb == "watch"
}

func (e *auditEvent) line() string {
	resource := e.Object.Resource
	if resource == "" {
		resource = e.URI // no object: /version, discovery
	}
	if e.Object.Subresource != "" {
		resource += "/" + e.Object.Subresource
	}
	return fmt.Sprintf("%s %s %s %s %s/%s %d %s", e.Received, e.User.Username, e.Verb, resource,
		e.Object.Namespace, e.Object.Name, e.Response.Code, e.UserAgent)
}
