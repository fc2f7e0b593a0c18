package policydoc

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// Parts collects the parts of one CEL policy.
type Parts struct {
	Policy   policy.ID
	Document *manifest.Document
	found    []policy.Part
}

// All returns the parts in order.
func (p *Parts) All() []policy.Part { return p.found }

// Condition adds a condition.
func (p *Parts) Condition(path change.Path, name string, program *celenv.Program) {
	title := path.String()
	if name != "" {
		title += " \"" + name + "\""
	}
	p.found = append(p.found, policy.Part{Policy: p.Policy, Kind: policy.ConditionPart, Name: title, At: p.Document.At(path), Ran: program != nil && program.Held()})
	p.Branches(path.Key("expression"), program)
}

// Mutation adds a mutation; rules are the rules of the policy that belong to it.
func (p *Parts) Mutation(path change.Path, rules ...string) {
	p.found = append(p.found, policy.Part{Policy: p.Policy, Kind: policy.MutationPart, Name: path.String(), At: p.Document.At(path), Rules: rules})
}

// Validation adds a validation. Its rule has a result only if it does not hold.
func (p *Parts) Validation(path change.Path, rule string, program *celenv.Program) {
	p.found = append(p.found, policy.Part{Policy: p.Policy, Kind: policy.ValidationPart, Name: path.String(), At: p.Document.At(path), Rules: []string{rule}, Ran: program != nil && program.Held()})
	p.Branches(path.Key("expression"), program)
}

// Branches adds the branches of the expression at a path.
func (p *Parts) Branches(path change.Path, program *celenv.Program) {
	if program == nil {
		return
	}
	for _, b := range program.Branches() {
		part := policy.Part{Policy: p.Policy, Kind: policy.BranchPart, At: p.Document.In(path, b.Offset)}
		part.Name, part.Ran = "the side of ? : for true in "+path.String(), b.Held()
		p.found = append(p.found, part)
		part.Name, part.Ran = "the side of ? : for false in "+path.String(), b.Failed()
		p.found = append(p.found, part)
	}
}

// Variables adds the branches of the variables of a spec.
func (p *Parts) Variables(scope *celenv.Scope) {
	for _, v := range policy.NodeAt(p.Document, "spec", "variables").Items() {
		p.Branches(v.Path.Key("expression"), scope.VariableProgram(v.At("name").Text()))
	}
}

// Expression returns the path of the expression of a mutation.
func Expression(mutation policy.Node) change.Path {
	for _, key := range []string{"applyConfiguration", "jsonPatch"} {
		if mutation.At(key).Given() {
			return mutation.Path.Key(key).Key("expression")
		}
	}
	return mutation.Path
}
