// SPDX-License-Identifier: Apache-2.0

// Reads manifests for t/package/helm.t, as JSON on standard output.
//
//	objects base FOLDER    what kustomize makes of FOLDER
//	objects yaml           the documents of standard input
//	objects restricted     what Pod Security's level "restricted" forbids in the pod templates of
//	                       standard input, one line each
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func objects(text []byte) ([]map[string]any, error) {
	var all []map[string]any
	reader := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var one map[string]any
		err := reader.Decode(&one)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(one) > 0 {
			all = append(all, one)
		}
	}
}

func base(folder string) ([]byte, error) {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	return made.AsYaml()
}

// restricted takes every object that has a pod template as Deployments have it.
func restricted(all []map[string]any) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	for _, object := range all {
		text, err := json.Marshal(object)
		if err != nil {
			return err
		}
		var workload struct {
			Kind string
			Spec struct{ Template *corev1.PodTemplateSpec }
		}
		// Specs of other kinds have other shapes; they have no template.
		if json.Unmarshal(text, &workload) != nil || workload.Spec.Template == nil {
			continue
		}
		pod := workload.Spec.Template
		level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec))
		if !result.Allowed {
			fmt.Printf("%s: %s\n", workload.Kind, result.ForbiddenDetail())
		}
	}
	return nil
}

func run(args []string) error {
	var text []byte
	var err error
	switch {
	case len(args) == 2 && args[0] == "base":
		text, err = base(args[1])
	case len(args) == 1 && (args[0] == "yaml" || args[0] == "restricted"):
		text, err = io.ReadAll(os.Stdin)
	default:
		return fmt.Errorf("usage: objects base FOLDER | objects yaml | objects restricted")
	}
	if err != nil {
		return err
	}
	all, err := objects(text)
	if err != nil {
		return err
	}
	if args[0] == "restricted" {
		return restricted(all)
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(1)
	}
}
