package tfprovider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// explainFunction is the function explain.
type explainFunction struct{ sets *cache }

func (f *explainFunction) Metadata(_ context.Context, _ function.MetadataRequest, response *function.MetadataResponse) {
	response.Name = "explain"
}

// explanation is the result of explain.
type explanation struct {
	ID         string       `tfsdk:"id"`
	Changed    bool         `tfsdk:"changed"`
	JSON       string       `tfsdk:"json"`
	Patch      string       `tfsdk:"patch"`
	Diff       string       `tfsdk:"diff"`
	Warnings   []string     `tfsdk:"warnings"`
	Changes    []changed    `tfsdk:"changes"`
	NotApplied []notApplied `tfsdk:"not_applied"`
	Kyverno    string       `tfsdk:"kyverno_version"`
}

// rule identifies the rule that changed an object.
type rule struct {
	Policy  string `tfsdk:"policy"`
	Binding string `tfsdk:"binding"`
	Param   string `tfsdk:"param"`
	Rule    string `tfsdk:"rule"`
	At      string `tfsdk:"at"`
}

// changed is one change of the object that policies see.
type changed struct {
	rule
	Op          string  `tfsdk:"op"`
	Path        string  `tfsdk:"path"`
	Old         *string `tfsdk:"old"`
	New         *string `tfsdk:"new"`
	Disposition string  `tfsdk:"disposition"`
}

// notApplied is the reason why a policy, or one of its rules, did not apply.
type notApplied struct {
	rule
	Reason string `tfsdk:"reason"`
}

func objectOf(names ...string) map[string]attr.Type {
	types := map[string]attr.Type{}
	for _, name := range names {
		types[name] = textType
	}
	return types
}

var (
	textType       = types.StringType
	changedType    = types.ObjectType{AttrTypes: objectOf("policy", "binding", "param", "rule", "at", "op", "path", "old", "new", "disposition")}
	notAppliedType = types.ObjectType{AttrTypes: objectOf("policy", "binding", "param", "rule", "at", "reason")}
)

func (f *explainFunction) Definition(_ context.Context, _ function.DefinitionRequest, response *function.DefinitionResponse) {
	response.Definition = function.Definition{
		Summary: "What policies change in one manifest, and why",
		MarkdownDescription: "Returns what `mutate` does, and the reasons:\n\n" +
			"- `id` (string) the key of the object, as in `preadmit_manifests`\n" +
			"- `changed` (bool) whether policies changed the manifest\n" +
			"- `json` (string) what `mutate` returns\n" +
			"- `patch` (string) the JSON Patch (RFC 6902) from the manifest to `json`\n" +
			"- `diff` (string) the unified diff of the manifest's own text; empty if nothing changed\n" +
			"- `warnings` (list of strings)\n" +
			"- `changes` (list of objects) every change to the object as policies see it, defaults of the API included: `policy`, `binding`, `param`, `rule`, `at` (its position), " +
			"`op`, `path`, `old` and `new` (JSON), and `disposition`: `written`, `pinned by admission` or `dropped by the server`\n" +
			"- `not_applied` (list of objects) why policies left the object alone: `policy`, `binding`, `param`, `rule`, `at`, `reason`\n" +
			"- `kyverno_version` (string) the version of Kyverno as which its policies ran; empty without such policies\n\n" + strings.TrimSpace(cannotMark),
		Parameters:        []function.Parameter{manifestParameter, policiesParameter(false)},
		VariadicParameter: optionsParameter(false),
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"id": textType, "changed": types.BoolType, "json": textType, "patch": textType, "diff": textType, "kyverno_version": textType,
			"warnings":    types.ListType{ElemType: textType},
			"changes":     types.ListType{ElemType: changedType},
			"not_applied": types.ListType{ElemType: notAppliedType},
		}},
	}
}

func (f *explainFunction) Run(ctx context.Context, request function.RunRequest, response *function.RunResponse) {
	a, d, err := admitOne(ctx, f.sets, request, engine.Explain())
	if err != nil {
		response.Error = err
		return
	}
	response.Error = response.Result.Set(ctx, a.explain(d))
}

func (a *admission) explain(d *document) explanation {
	key := d.key()
	e := explanation{
		ID: key, Changed: d.written.Changed(), JSON: d.json, Patch: d.patch(), Diff: d.diff(key),
		Warnings: a.warnings(), Changes: []changed{}, NotApplied: []notApplied{},
	}
	if d.manifest == nil {
		return e
	}
	e.Kyverno = a.outcome.KyvernoVersion
	for _, c := range d.manifest.Changes {
		e.Changes = append(e.Changes, a.change(c))
	}
	for _, n := range d.manifest.NotApplied {
		e.NotApplied = append(e.NotApplied, notApplied{a.rule(n.ID, n.At), a.outcome.Secrets.Reason(n.Reason)})
	}
	return e
}

func (a *admission) rule(id policy.ID, at source.Position) rule {
	part := id.Part()
	if id.Plugin != "" {
		part = id.String()
	}
	return rule{id.Policy, id.Binding, id.Param, part, a.where(at)}
}

func (a *admission) change(c engine.Change) changed {
	value := func(v any, is bool) *string {
		if !is {
			return nil
		}
		text := string(manifest.JSON(v))
		return &text
	}
	return changed{
		rule: a.rule(c.By, c.At), Op: string(c.Op), Path: c.Path.Pointer(), Disposition: string(c.Disposition),
		Old: value(c.Old, c.Op == change.Remove || c.Op == change.Replace),
		New: value(c.New, c.Op == change.Add || c.Op == change.Replace),
	}
}
