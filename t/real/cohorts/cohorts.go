// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Cohorts says what Kueue's own scheduler cache decides about compiled queue trees. It is built in
// Kueue's module (t/real/cohorts/build), so that it has the code and the versions of that Kueue.
//
//	cohorts [--more FIELD] <CASES
//
// Each line of its input is a case:
//
//	{"case": NAME, "objects": LIST, "steps": [
//	  {"queue": CLUSTERQUEUE, "usage": {"FLAVOR/RESOURCE": QUANTITY}, "force": BOOL},
//	  {"release": STEP}]}
//
// For each step with a queue it prints "NAME STEP yes" when the scheduler would find the usage fit
// without preemption, else "NAME STEP no". What fits is charged, what is forced in any case, until
// it is released. --more adds the smallest unit to each nominalQuota, borrowingLimit or lendingLimit,
// to show that such a difference is found.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	cache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/webhooks"
	"sigs.k8s.io/kueue/pkg/workload"
)

type step struct {
	Queue   kueue.ClusterQueueReference
	Usage   map[string]resource.Quantity
	Force   bool
	Release *int
}

type testCase struct {
	Case    string
	Objects struct{ Items []json.RawMessage }
	Steps   []step
}

// charged is what a step holds.
type charged struct {
	queue *cache.ClusterQueueSnapshot
	usage workload.Usage
}

// noObjects is an API server without LocalQueues and Workloads, which is all that the cache asks for.
type noObjects struct{ client.Client }

func (noObjects) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// strict reads an object as an API server with strict validation does.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// enlarge adds the smallest unit of its resource to a quantity.
func enlarge(name corev1.ResourceName, q *resource.Quantity) {
	if q == nil {
		return
	}
	unit := resource.MustParse("1")
	if name == corev1.ResourceCPU {
		unit = resource.MustParse("1m")
	}
	q.Add(unit)
}

func change(groups []kueue.ResourceGroup, more string) {
	for g := range groups {
		for f := range groups[g].Flavors {
			for r := range groups[g].Flavors[f].Resources {
				q := &groups[g].Flavors[f].Resources[r]
				switch more {
				case "nominalQuota":
					enlarge(q.Name, &q.NominalQuota)
				case "borrowingLimit":
					enlarge(q.Name, q.BorrowingLimit)
				case "lendingLimit":
					enlarge(q.Name, q.LendingLimit)
				}
			}
		}
	}
}

func addFlavors(c *cache.Cache, groups []kueue.ResourceGroup) {
	for _, g := range groups {
		for _, f := range g.Flavors {
			c.AddOrUpdateResourceFlavor(logr.Discard(),
				&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: string(f.Name)}})
		}
	}
}

// add puts one object into the cache, if Kueue's webhook lets it through.
func add(ctx context.Context, c *cache.Cache, text []byte, more string) error {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return err
	}
	if meta.APIVersion != kueue.SchemeGroupVersion.String() {
		return fmt.Errorf("apiVersion %q: expected %s", meta.APIVersion, kueue.SchemeGroupVersion)
	}
	switch meta.Kind {
	case "Cohort":
		var cohort kueue.Cohort
		if err := strict(text, &cohort); err != nil {
			return err
		}
		if _, err := (&webhooks.CohortWebhook{}).ValidateCreate(ctx, &cohort); err != nil {
			return err
		}
		change(cohort.Spec.ResourceGroups, more)
		return c.AddOrUpdateCohort(&cohort)
	case "ClusterQueue":
		var queue kueue.ClusterQueue
		if err := strict(text, &queue); err != nil {
			return err
		}
		if _, err := (&webhooks.ClusterQueueWebhook{}).ValidateCreate(ctx, &queue); err != nil {
			return err
		}
		change(queue.Spec.ResourceGroups, more)
		addFlavors(c, queue.Spec.ResourceGroups)
		return c.AddClusterQueue(ctx, &queue)
	}
	return fmt.Errorf("kind %q: expected Cohort or ClusterQueue", meta.Kind)
}

// usageOf is the usage of a step in Kueue's units.
func usageOf(s *step) (workload.Usage, resources.FlavorResourceQuantities, error) {
	var u workload.Usage
	q := resources.FlavorResourceQuantities{}
	for pair, amount := range s.Usage {
		flavor, name, found := strings.Cut(pair, "/")
		if !found {
			return u, q, fmt.Errorf("usage %q: expected flavor/resource", pair)
		}
		fr := resources.FlavorResource{Flavor: kueue.ResourceFlavorReference(flavor), Resource: corev1.ResourceName(name)}
		q[fr] = resources.NewAmount(resources.ResourceValue(fr.Resource, amount))
	}
	// Newer versions have a struct around what is assigned.
	field := reflect.ValueOf(&u).Elem().FieldByName("Quota")
	if field.Kind() == reflect.Struct {
		field = field.FieldByName("Assigned")
	}
	field.Set(reflect.ValueOf(q))
	return u, q, nil
}

// fits is the scheduler's "Fit": the flavor assigner compares with PotentialAvailable and Available,
// the admission asks Fits once more.
func fits(queue *cache.ClusterQueueSnapshot, u workload.Usage, q resources.FlavorResourceQuantities) bool {
	for fr, amount := range q {
		if amount.Cmp(queue.PotentialAvailable(fr)) > 0 || amount.Cmp(queue.Available(fr)) > 0 {
			return false
		}
	}
	return queue.Fits(u) == cache.FitsCheckOk
}

func decide(ctx context.Context, t *testCase, more string, out io.Writer) error {
	c := cache.New(noObjects{})
	for _, text := range t.Objects.Items {
		if err := add(ctx, c, text, more); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	snapshot, err := c.Snapshot(ctx)
	if err != nil {
		return err
	}
	holds := map[int]charged{}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Release != nil {
			if h, found := holds[*s.Release]; found {
				h.queue.RemoveUsage(h.usage)
				delete(holds, *s.Release)
			}
			continue
		}
		queue := snapshot.ClusterQueue(s.Queue)
		if queue == nil {
			return fmt.Errorf("step %d: ClusterQueue %q is not there, or not active", i, s.Queue)
		}
		usage, quantities, err := usageOf(s)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		word := "no"
		yes := fits(queue, usage, quantities)
		if yes {
			word = "yes"
		}
		if yes || s.Force {
			queue.AddUsage(usage)
			holds[i] = charged{queue, usage}
		}
		fmt.Fprintf(out, "%s %d %s\n", t.Case, i, word)
	}
	return nil
}

func run(more string) error {
	out := bufio.NewWriter(os.Stdout)
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	ctx := logr.NewContext(context.Background(), logr.Discard())
	for {
		var t testCase
		if err := in.Decode(&t); errors.Is(err, io.EOF) {
			return out.Flush()
		} else if err != nil {
			return err
		}
		if err := decide(ctx, &t, more, out); err != nil {
			return fmt.Errorf("case %s: %w", t.Case, err)
		}
	}
}

func main() {
	more := flag.String("more", "", "")
	flag.Parse()
	if err := run(*more); err != nil {
		fmt.Fprintf(os.Stderr, "cohorts: %v\n", err)
		os.Exit(1)
	}
}
