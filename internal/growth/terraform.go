package growth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/tfprovider"
)

// call prepares a call of the Terraform provider with the policies and manifests of an input.
type call = func(files map[string]string) (func() error, error)

// calls are the calls of the provider by name: the data source, the functions for all manifests, and
// the functions for one manifest, which are called for each.
var calls = map[string]call{
	"data source":    readManifests,
	"mutate_all":     forAll("mutate_all"),
	"pods()":         forAll("pods"),
	"explain()":      forEach("explain", text),
	"mutate()":       forEach("mutate", text),
	"admit()":        forEach("admit", object),
	"admit(unknown)": forEach("admit", objectOfUnknowns),
}

// ofTerraform are the dimensions of the provider.
func ofTerraform() []dimension {
	each := []string{"mutate()", "admit()", "explain()"}
	return []dimension{
		{name: "terraform/manifests", commands: append([]string{"data source", "mutate_all", "pods()"}, each...), n: 25, files: func(n int) map[string]string {
			return input(labelAll(), deployments(n))
		}},
		{name: "terraform/fields", commands: append([]string{"data source", "mutate_all", "admit(unknown)"}, each...), n: 75, files: func(n int) map[string]string {
			return input(labelMAP("team"), configMap(n))
		}},
		{name: "terraform/edits", commands: append([]string{"data source", "mutate_all"}, each...), n: 75, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(setAll)), configMap(n))
		}},
		{name: "terraform/policies", commands: append([]string{"data source", "mutate_all", "admit(unknown)"}, each...), n: 25, files: func(n int) map[string]string {
			return input(labels(n), configMaps(1))
		}},
		{name: "terraform/secrets", commands: []string{"mutate_all", "admit()", "explain()"}, n: 25, files: func(n int) map[string]string {
			return input(labelAll(), params(n))
		}},
	}
}

// split returns the policies of an input, and its other documents.
func split(files map[string]string) (policies string, manifests []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == policiesFile {
			policies = files[name]
			continue
		}
		for _, document := range strings.Split(files[name], "---\n") {
			if document != "" {
				manifests = append(manifests, document)
			}
		}
	}
	return policies, manifests
}

var texts = tftypes.List{ElementType: tftypes.String}

func listOf(items []string) tftypes.Value {
	values := make([]tftypes.Value, len(items))
	for i, item := range items {
		values[i] = tftypes.NewValue(tftypes.String, item)
	}
	return tftypes.NewValue(texts, values)
}

// readManifests reads the data source.
func readManifests(files map[string]string) (func() error, error) {
	server := tfprovider.NewServer("growth")
	response, err := server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	const name = "preadmit_manifests"
	schema := response.DataSourceSchemas[name].ValueType().(tftypes.Object)
	attributes := map[string]tftypes.Value{}
	for attribute, kind := range schema.AttributeTypes {
		attributes[attribute] = tftypes.NewValue(kind, nil)
	}
	policies, manifests := split(files)
	attributes["policies"], attributes["manifests"] = listOf([]string{policies}), listOf(manifests)
	config, err := tfprotov6.NewDynamicValue(schema, tftypes.NewValue(schema, attributes))
	return func() error {
		response, err := server.ReadDataSource(context.Background(), &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: &config})
		if err == nil && len(response.Diagnostics) > 0 {
			err = errors.New(response.Diagnostics[0].Detail)
		}
		return err
	}, err
}

// forAll calls a function once, with a map of all manifests.
func forAll(name string) call {
	return func(files map[string]string) (func() error, error) {
		policies, manifests := split(files)
		values := map[string]tftypes.Value{}
		for i, m := range manifests {
			values[fmt.Sprint(i)] = tftypes.NewValue(tftypes.String, m)
		}
		kind := tftypes.Map{ElementType: tftypes.String}
		return prepareCalls(name, policies, kind, tftypes.NewValue(kind, values))
	}
}

// forEach calls a function for each manifest.
func forEach(name string, argument func(manifest string) (tftypes.Type, tftypes.Value, error)) call {
	return func(files map[string]string) (func() error, error) {
		policies, manifests := split(files)
		var kind tftypes.Type
		values := make([]tftypes.Value, len(manifests))
		for i, m := range manifests {
			var err error
			if kind, values[i], err = argument(m); err != nil {
				return nil, err
			}
		}
		return prepareCalls(name, policies, kind, values...)
	}
}

// prepareCalls encodes the arguments of the calls of a function, so that the cost of that is not
// counted.
func prepareCalls(name, policies string, kind tftypes.Type, arguments ...tftypes.Value) (func() error, error) {
	server := tfprovider.NewServer("growth")
	second, err := tfprotov6.NewDynamicValue(tftypes.DynamicPseudoType, listOf([]string{policies}))
	if err != nil {
		return nil, err
	}
	requests := make([]*tfprotov6.CallFunctionRequest, len(arguments))
	for i, argument := range arguments {
		first, err := tfprotov6.NewDynamicValue(kind, argument)
		if err != nil {
			return nil, err
		}
		requests[i] = &tfprotov6.CallFunctionRequest{Name: name, Arguments: []*tfprotov6.DynamicValue{&first, &second}}
	}
	return func() error {
		for _, request := range requests {
			response, err := server.CallFunction(context.Background(), request)
			if err == nil && response.Error != nil {
				err = errors.New(response.Error.Text)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// text returns a manifest as a string.
func text(manifest string) (tftypes.Type, tftypes.Value, error) {
	return tftypes.String, tftypes.NewValue(tftypes.String, manifest), nil
}

// object returns a manifest as an object.
func object(manifest string) (tftypes.Type, tftypes.Value, error) {
	return decoded(manifest, func(v string) tftypes.Value { return tftypes.NewValue(tftypes.String, v) })
}

// objectOfUnknowns is object; values that begin with "value-" are unknown.
func objectOfUnknowns(manifest string) (tftypes.Type, tftypes.Value, error) {
	return decoded(manifest, func(v string) tftypes.Value {
		if strings.HasPrefix(v, "value-") {
			return tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
		}
		return tftypes.NewValue(tftypes.String, v)
	})
}

func decoded(text string, ofText func(string) tftypes.Value) (tftypes.Type, tftypes.Value, error) {
	stream, problems := manifest.Read("", []byte(text))
	if len(problems) > 0 {
		return nil, tftypes.Value{}, errors.New(problems[0].Message)
	}
	return tftypes.DynamicPseudoType, encoded(stream.Documents()[0].Object(), ofText), nil
}

// encoded returns a value as jsondecode does.
func encoded(value any, ofText func(string) tftypes.Value) tftypes.Value {
	switch v := value.(type) {
	case string:
		return ofText(v)
	case []any:
		kinds, items := make([]tftypes.Type, len(v)), make([]tftypes.Value, len(v))
		for i := range v {
			items[i] = encoded(v[i], ofText)
			kinds[i] = items[i].Type()
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: kinds}, items)
	case map[string]any:
		kinds, fields := map[string]tftypes.Type{}, map[string]tftypes.Value{}
		for name := range v {
			fields[name] = encoded(v[name], ofText)
			kinds[name] = fields[name].Type()
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: kinds}, fields)
	}
	panic(fmt.Sprintf("%T in a manifest of this test", value))
}
