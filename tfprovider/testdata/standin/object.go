package main

import (
	"context"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// setter is a plan or a state.
type setter interface {
	SetAttribute(ctx context.Context, at path.Path, value any) diag.Diagnostics
}

// setObject sets the object of a kubernetes_manifest: what the server stored, or what is
// planned of it. Terraform itself compares the two. Where nothing is said of the server, it
// stores the manifest.
func setObject(ctx context.Context, plan tfsdk.Plan, target setter, planned bool) diag.Diagnostics {
	var manifest types.Dynamic
	var text types.String
	problems := plan.GetAttribute(ctx, path.Root("manifest"), &manifest)
	problems.Append(plan.GetAttribute(ctx, path.Root("stored"), &text)...)
	if problems.HasError() || manifest.IsUnknown() || text.IsUnknown() {
		return problems
	}
	if text.IsNull() {
		problems.Append(target.SetAttribute(ctx, path.Root("object"), manifest)...)
		return problems
	}
	decoder := json.NewDecoder(strings.NewReader(text.ValueString()))
	decoder.UseNumber()
	var stored any
	if err := decoder.Decode(&stored); err != nil {
		problems.AddError("Invalid JSON", err.Error())
		return problems
	}
	problems.Append(target.SetAttribute(ctx, path.Root("object"), types.DynamicValue(merge(ctx, manifest.UnderlyingValue(), stored, planned)))...)
	return problems
}

// merge is the value of an object that a manifest sets and the server stored, with the keys
// of both: planned as the manifest has it, else as it is stored.
func merge(ctx context.Context, manifest attr.Value, stored any, planned bool) attr.Value {
	if d, ok := manifest.(types.Dynamic); ok {
		manifest = d.UnderlyingValue()
	}
	if manifest == nil || manifest.IsNull() {
		if planned {
			return types.DynamicUnknown()
		}
		return valueOf(ctx, stored)
	}
	switch m := manifest.(type) {
	case types.Object:
		if object, ok := stored.(map[string]any); ok {
			fields := map[string]attr.Value{}
			for key := range object {
				fields[key] = merge(ctx, m.Attributes()[key], object[key], planned)
			}
			for key, value := range m.Attributes() {
				if _, ok := object[key]; !ok {
					fields[key] = merge(ctx, value, nil, planned)
				}
			}
			return objectOf(ctx, fields)
		}
	case types.Tuple:
		if list, ok := stored.([]any); ok && len(list) == len(m.Elements()) {
			items := make([]attr.Value, len(list))
			for i, item := range m.Elements() {
				items[i] = merge(ctx, item, list[i], planned)
			}
			return tupleOf(ctx, items)
		}
	}
	if planned {
		return manifest
	}
	return valueOf(ctx, stored)
}

func valueOf(ctx context.Context, stored any) attr.Value {
	switch v := stored.(type) {
	case string:
		return types.StringValue(v)
	case bool:
		return types.BoolValue(v)
	case json.Number:
		f, _, err := big.ParseFloat(v.String(), 10, 512, big.ToNearestEven)
		if err != nil {
			panic(err)
		}
		return types.NumberValue(f)
	case []any:
		items := make([]attr.Value, len(v))
		for i := range v {
			items[i] = valueOf(ctx, v[i])
		}
		return tupleOf(ctx, items)
	case map[string]any:
		fields := map[string]attr.Value{}
		for key := range v {
			fields[key] = valueOf(ctx, v[key])
		}
		return objectOf(ctx, fields)
	}
	return types.DynamicNull()
}

func objectOf(ctx context.Context, fields map[string]attr.Value) attr.Value {
	kinds := map[string]attr.Type{}
	for _, key := range slices.Collect(maps.Keys(fields)) {
		kinds[key] = fields[key].Type(ctx)
	}
	return types.ObjectValueMust(kinds, fields)
}

func tupleOf(ctx context.Context, items []attr.Value) attr.Value {
	kinds := make([]attr.Type, len(items))
	for i := range items {
		kinds[i] = items[i].Type(ctx)
	}
	return types.TupleValueMust(kinds, items)
}

// unchanged returns the object in the state, if the manifest is that of the state.
func unchanged(ctx context.Context, request resource.ModifyPlanRequest) (object types.Dynamic, same bool) {
	var before, after types.Dynamic
	if request.State.Raw.IsNull() {
		return object, false
	}
	problems := request.State.GetAttribute(ctx, path.Root("manifest"), &before)
	problems.Append(request.Plan.GetAttribute(ctx, path.Root("manifest"), &after)...)
	problems.Append(request.State.GetAttribute(ctx, path.Root("object"), &object)...)
	return object, !problems.HasError() && before.Equal(after)
}
