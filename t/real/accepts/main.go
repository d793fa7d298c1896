// SPDX-License-Identifier: Apache-2.0

// accepts [CRD...] says whether an API server would create objects of Kubernetes' own kinds, and of
// those of the CRDs in these files: it decodes, defaults, prepares and validates them with the code
// that kube-apiserver runs. It reads JSON objects from standard input, one a line, and prints a line
// for each: "accepted KIND/NAME", "refused KIND/NAME: why", or "unknown KIND/NAME" for another kind.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/pod"
)

var codecs = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

var strategies = map[string]rest.RESTCreateStrategy{
	"apps/v1, Kind=Deployment":  deployment.Strategy,
	"apps/v1, Kind=StatefulSet": statefulset.Strategy,
	"batch/v1, Kind=Job":        job.Strategy,
	"/v1, Kind=Pod":             pod.Strategy,
}

func create(text []byte, meta *metav1.PartialObjectMetadata, strategy rest.RESTCreateStrategy) error {
	gvk := meta.GroupVersionKind()
	// as fieldValidation=Strict: a copy with a field that the API has not would lose it silently
	decoder := codecs.UniversalDecoder(schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	obj, _, err := decoder.Decode(text, &gvk, nil)
	if err != nil {
		return err
	}
	ctx := genericrequest.WithNamespace(context.Background(), meta.Namespace)
	ctx = genericrequest.WithRequestInfo(ctx, &genericrequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: gvk.Group, APIVersion: gvk.Version, Namespace: meta.Namespace,
	})
	object := obj.(metav1.Object)
	rest.FillObjectMetaSystemFields(object)
	return rest.BeforeCreate(strategy, ctx, obj)
}

func main() {
	customs := map[string]custom{}
	for _, path := range os.Args[1:] {
		if err := read(path, customs); err != nil {
			fmt.Fprintln(os.Stderr, "accepts:", err)
			os.Exit(1)
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(in.Bytes(), &meta); err != nil {
			fmt.Println("refused:", err)
			continue
		}
		gvk := meta.GroupVersionKind()
		name := gvk.Kind + "/" + meta.Name
		strategy, ours := strategies[gvk.GroupVersion().String()+", Kind="+gvk.Kind]
		if gvk.Group == "" {
			strategy, ours = strategies["/"+gvk.Version+", Kind="+gvk.Kind]
		}
		c, theirs := customs[gvk.GroupVersion().String()+", Kind="+gvk.Kind]
		var err error
		if ours {
			err = create(in.Bytes(), &meta, strategy)
		} else if theirs {
			err = c.create(in.Bytes())
		}
		if !ours && !theirs {
			fmt.Println("unknown", name)
		} else if err != nil {
			fmt.Println("refused", name+":", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("accepted", name)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "accepts:", err)
		os.Exit(1)
	}
}
