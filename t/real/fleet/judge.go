// SPDX-License-Identifier: Apache-2.0

// `fleet judge`: what must hold at every moment, whatever a test does, checked on a recorded
// history. It prints a line per breach. The planes have no common order of events, only that of
// their arrival here, so that what happens on two of them is given a moment to arrive.

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	originLabel = "kueue.x-k8s.io/multikueue-origin"
	prebuilt    = "kueue.x-k8s.io/prebuilt-workload-name"
	overlapMax  = 200 * time.Millisecond
	arrivalMax  = time.Second
	lagMax      = 30 * time.Second // of a watch on a busy machine
)

type condition struct {
	Type, Status, Reason, Message string
	LastTransitionTime            time.Time
}

// object is of a Job and of a Workload what the rules need.
type object struct {
	Kind     string
	Metadata struct {
		Name, UID, DeletionTimestamp string
		Labels, Annotations          map[string]string
	}
	Spec struct {
		Suspend bool
	}
	Status struct {
		ClusterName           string
		NominatedClusterNames []string
		Conditions            []condition
		Succeeded, Failed     int
	}
	raw json.RawMessage
}

func (o *object) is(types ...string) bool {
	return o != nil && slices.ContainsFunc(o.Status.Conditions, func(c condition) bool {
		return c.Status == "True" && slices.Contains(types, c.Type)
	})
}

// was says whether one of the conditions has been true since 'at' or before, by the server's clock,
// which has whole seconds.
func (o *object) was(at time.Time, types ...string) bool {
	return o != nil && slices.ContainsFunc(o.Status.Conditions, func(c condition) bool {
		return c.Status == "True" && slices.Contains(types, c.Type) &&
			!c.LastTransitionTime.IsZero() && !c.LastTransitionTime.After(at)
	})
}

func (o *object) ours() bool { return o.Metadata.Labels[originLabel] != "" }

// ended counts only the ends of a Job.
func (o *object) ended() bool { return o.is("Complete", "Failed") }

func (o *object) runs() bool {
	return o.Kind == "Job" && o.ours() && !o.Spec.Suspend && !o.ended() &&
		o.Metadata.DeletionTimestamp == ""
}

// doubt is a breach unless something arrives until its deadline.
type doubt struct {
	until   time.Time
	text    string
	settled func() bool
}

type judge struct {
	manager      string
	mayOverlap   bool               // a worker that was out of reach may run a lost copy
	mayPrecommit bool               // Kueue's own MultiKueue creates Jobs before it names the cluster
	mayRemove    bool               // a user removes what has ended
	alias        map[string]string  // planes of MultiKueueClusters that are not called like theirs
	state        map[string]*object // plane/kind/name
	doubts       []*doubt
	now          time.Time // of the entry
	out          io.Writer
}

func cmdJudge(args []string) error {
	fs := newFlags("judge")
	j := &judge{state: map[string]*object{}, alias: map[string]string{}, out: os.Stdout}
	fs.StringVar(&j.manager, "manager", "mgr", "name of the manager's plane")
	fs.BoolVar(&j.mayOverlap, "overlap", false, "a worker was away for longer than workerLostTimeout")
	fs.BoolVar(&j.mayPrecommit, "precommit", false, "Kueue's own MultiKueue was at work")
	fs.BoolVar(&j.mayRemove, "removed", false, "a user of a worker removed what had ended")
	var aliases names
	fs.Var(&aliases, "alias", "NAME=PLANE: a MultiKueueCluster that leads there")
	_ = fs.Parse(args)
	for _, a := range aliases {
		name, plane, _ := strings.Cut(a, "=")
		j.alias[name] = plane
	}
	if fs.NArg() != 1 {
		return errors.New("judge needs the file of a history")
	}
	file, err := os.Open(fs.Arg(0))
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e entry
		if json.Unmarshal(in.Bytes(), &e) != nil || e.Type == "READY" {
			continue // the last line may be half written
		}
		if err := j.entry(&e); err != nil {
			return err
		}
	}
	j.settle(time.Now().Add(time.Hour))
	return in.Err()
}

func (j *judge) say(at time.Time, format string, args ...any) {
	fmt.Fprintf(j.out, "%s %s\n", at.Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

func (j *judge) get(plane, kind, name string) *object { return j.state[plane+"/"+kind+"/"+name] }

func (j *judge) entry(e *entry) error {
	o := &object{}
	if err := json.Unmarshal(e.Object, o); err != nil {
		return err
	}
	o.raw = e.Object
	if o.Kind == "" { // items of lists do not say what they are
		o.Kind = "Job"
		if strings.Contains(string(e.Object), `"podSets"`) {
			o.Kind = "Workload"
		}
	}
	j.settle(e.Time)
	key := e.Plane + "/" + o.Kind + "/" + o.Metadata.Name
	old := j.state[key]
	if old != nil && old.Metadata.UID != o.Metadata.UID {
		old = nil
	}
	j.state[key] = o
	if e.Type == "DELETED" {
		delete(j.state, key)
	}
	switch {
	case e.Plane == j.manager && o.Kind == "Workload":
		j.workload(e, old, o)
	case e.Plane == j.manager:
		j.localJob(e, old, o)
	case o.Kind == "Job" && o.ours():
		j.remoteJob(e, old, o)
	}
	return nil
}

// settle speaks of every doubt that nothing has removed in time.
func (j *judge) settle(now time.Time) {
	j.now = now
	j.doubts = slices.DeleteFunc(j.doubts, func(d *doubt) bool {
		if d.settled() {
			return true
		}
		if now.After(d.until) {
			j.say(d.until, "%s", d.text)
			return true
		}
		return false
	})
}

func (j *judge) doubt(at time.Time, limit time.Duration, settled func() bool, format string, args ...any) {
	if !settled() {
		j.doubts = append(j.doubts, &doubt{at.Add(limit), fmt.Sprintf(format, args...), settled})
	}
}

// workload: the name of the cluster never changes while it is set; an end is for ever.
func (j *judge) workload(e *entry, old, o *object) {
	name := o.Metadata.Name
	if old == nil || e.Type == "DELETED" {
		return
	}
	was, is := old.Status.ClusterName, o.Status.ClusterName
	if was != "" && is != "" && was != is {
		j.say(e.Time, "Workload %s: clusterName changed from %s to %s", name, was, is)
	}
	if old.is("Finished") && !o.is("Finished") {
		j.say(e.Time, "Workload %s: Finished was taken back", name)
	}
	if is != "" && was == "" && !slices.Contains(old.Status.NominatedClusterNames, is) {
		j.say(e.Time, "Workload %s: %s wins without having been nominated", name, is)
	}
	if !e.Gap && !j.mayPrecommit {
		j.foreign(e.Time, old, o)
	}
}

// foreign: multikueued writes as the field manager that the scheduler uses too, so that each of its
// writes could take the scheduler's fields away. A state that begins to name clusters is one of its
// writes, and nothing else may differ.
func (j *judge) foreign(at time.Time, old, o *object) {
	nominates := len(o.Status.NominatedClusterNames) > 0 &&
		!slices.Equal(old.Status.NominatedClusterNames, o.Status.NominatedClusterNames)
	if !nominates && (o.Status.ClusterName == "" || old.Status.ClusterName != "") {
		return
	}
	before, after := others(old), others(o)
	keys := map[string]any{}
	maps.Copy(keys, before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if a, b := plain(before[key]), plain(after[key]); a != b {
			j.say(at, "Workload %s: naming a cluster changed %s from %s to %s", o.Metadata.Name, key, a, b)
		}
	}
}

// others is what belongs to other writers than multikueued: all but the cluster names
// and the one check that changed.
func others(o *object) map[string]any {
	var whole struct{ Metadata, Spec, Status map[string]any }
	_ = json.Unmarshal(o.raw, &whole)
	flat := map[string]any{}
	for part, fields := range map[string]map[string]any{
		"metadata": whole.Metadata, "spec": whole.Spec, "status": whole.Status} {
		for k, v := range fields {
			flat[part+"."+k] = v
		}
	}
	for _, k := range []string{"metadata.managedFields", "metadata.resourceVersion", "metadata.generation",
		"status.clusterName", "status.nominatedClusterNames", "status.admissionChecks"} {
		delete(flat, k)
	}
	// The names of the test's checks begin with its namespace; those of
	// other controllers' checks do not.
	namespace, _ := whole.Metadata["namespace"].(string)
	checks, _ := whole.Status["admissionChecks"].([]any)
	for _, c := range checks {
		m, _ := c.(map[string]any)
		if name, ok := m["name"].(string); ok && !strings.HasPrefix(name, namespace) {
			flat["status.admissionChecks of "+name] = m
		}
	}
	return flat
}

// localJob: counters of a running Job only grow.
func (j *judge) localJob(e *entry, old, o *object) {
	if old == nil || e.Type == "DELETED" || old.Spec.Suspend || o.Spec.Suspend {
		return
	}
	if o.Status.Succeeded < old.Status.Succeeded || o.Status.Failed < old.Status.Failed {
		j.say(e.Time, "Job %s: counters fell while it ran", o.Metadata.Name)
	}
	if old.ended() && !o.ended() {
		j.say(e.Time, "Job %s: its end was taken back", o.Metadata.Name)
	}
}

// committed says whether the Workload names a cluster that is this plane.
func (j *judge) committed(w *object, plane string) bool {
	name := w.Status.ClusterName
	return name == plane || name != "" && j.alias[name] == plane
}

// workloadOf is the manager's Workload of a copy.
func (j *judge) workloadOf(o *object) *object {
	name := o.Metadata.Annotations[prebuilt]
	if name == "" {
		name = o.Metadata.Labels[prebuilt]
	}
	return j.get(j.manager, "Workload", name)
}

// removed: a copy that had ended is gone. The manager's event of that end may arrive much later than
// this one; then it tells by its own time that it came first.
func (j *judge) removed(at time.Time, o *object, plane string) {
	j.doubt(at, lagMax, func() bool {
		w := j.workloadOf(o)
		if j.now.After(at.Add(arrivalMax)) {
			return w.was(at, "Finished", "Evicted")
		}
		return w == nil || w.is("Finished", "Evicted") || !j.committed(w, plane)
	}, "Job %s on %s: removed before its end was on record", o.Metadata.Name, plane)
}

// remoteJob: a copy is made on the committed cluster alone, runs on one worker only, and is not
// removed before its end is on record.
func (j *judge) remoteJob(e *entry, old, o *object) {
	name, plane := o.Metadata.Name, e.Plane
	if e.Type == "DELETED" {
		if o.ended() && !j.mayRemove {
			j.removed(e.Time, o, plane)
		}
		return
	}
	if old == nil && !j.mayPrecommit {
		j.doubt(e.Time, arrivalMax, func() bool {
			w := j.workloadOf(o)
			return w == nil || j.committed(w, plane) || j.get(plane, "Job", name) == nil
		}, "Job %s on %s: made while another cluster or none was chosen", name, plane)
	}
	if !o.runs() || old != nil && old.runs() || j.mayOverlap {
		return
	}
	uid := o.Metadata.UID
	j.doubt(e.Time, overlapMax, func() bool {
		mine := j.get(plane, "Job", name)
		if mine == nil || mine.Metadata.UID != uid || !mine.runs() {
			return true
		}
		for key, other := range j.state {
			if other != mine && other.runs() && strings.HasSuffix(key, "/Job/"+name) {
				return false
			}
		}
		return true
	}, "Job %s runs on %s and on another worker", name, plane)
}
