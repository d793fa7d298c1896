// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// A version of a CRD, as an API server judges its objects.
type custom struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// read adds the versions of the CRD in a file to kinds, by "GROUP/VERSION, Kind=KIND".
func read(path string, kinds map[string]custom) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var crd v1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, version := range crd.Spec.Versions {
		var schema apiextensions.JSONSchemaProps
		if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &schema, nil); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		structural, err := structuralschema.NewStructural(&schema)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		validator, _, err := validation.NewSchemaValidator(&schema)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		kinds[crd.Spec.Group+"/"+version.Name+", Kind="+crd.Spec.Names.Kind] = custom{
			structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	return nil
}

// create judges an object as a create with fieldValidation=Strict does: fields that the schema does
// not have, its defaults, its types and its rules.
func (c custom) create(text []byte) error {
	var obj map[string]any
	if err := json.Unmarshal(text, &obj); err != nil {
		return err
	}
	unknown := pruning.PruneWithOptions(obj, c.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return fmt.Errorf("unknown fields: %s", strings.Join(unknown, ", "))
	}
	defaulting.Default(obj, c.structural)
	errs := validation.ValidateCustomResource(nil, obj, c.validator)
	if c.rules != nil && len(errs) == 0 {
		found, _ := c.rules.Validate(context.Background(), nil, c.structural, obj, nil, math.MaxInt64)
		errs = append(errs, found...)
	}
	return errs.ToAggregate()
}
