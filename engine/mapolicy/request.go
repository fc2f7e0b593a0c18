package mapolicy

import (
	"github.com/preadmit/preadmit/engine/celenv"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/schema"
)

// input is what the invocation's expressions see.
func (i *invocation) input(r *policy.Request, namespace func() map[string]any) celenv.Input {
	input := celenv.Input{
		Object:     i.object(r.Object),
		Params:     i.param,
		Namespace:  namespace,
		Request:    func() map[string]any { return i.requestVariable(r, i.kind) },
		Authorizer: i.program.authorizer,
	}
	if r.OldObject != nil {
		input.OldObject = i.object(r.OldObject)
	} else {
		input.OldUnknown = r.Operation == policy.Update
	}
	return input
}

// requestVariable is the variable `request`: the JSON form of an AdmissionRequest,
// without the fields that are empty there. resource is that of the kind given.
func (i *invocation) requestVariable(r *policy.Request, resource *schema.Kind) map[string]any {
	request := map[string]any{
		"uid":             "",
		"kind":            kindOf(i.kind),
		"resource":        resourceOf(resource),
		"requestKind":     kindOf(r.Kind),
		"requestResource": resourceOf(r.Kind),
		"operation":       string(r.Operation),
		"userInfo":        userInfo(r.User),
		"object":          nil,
		"oldObject":       nil,
		"dryRun":          r.DryRun,
		"options":         options(r),
	}
	if r.Name != "" {
		request["name"] = r.Name
	}
	if r.Namespace != "" {
		request["namespace"] = r.Namespace
	}
	return request
}

func kindOf(k *schema.Kind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "kind": k.Kind.Kind}
}

func resourceOf(k *schema.Kind) map[string]any {
	return map[string]any{"group": k.Group, "version": k.Version, "resource": k.Resource}
}

func userInfo(u policy.User) map[string]any {
	info := map[string]any{}
	if u.Name != "" {
		info["username"] = u.Name
	}
	if u.UID != "" {
		info["uid"] = u.UID
	}
	if len(u.Groups) > 0 {
		info["groups"] = texts(u.Groups)
	}
	if len(u.Extra) > 0 {
		extra := make(map[string]any, len(u.Extra))
		for key, values := range u.Extra {
			extra[key] = texts(values)
		}
		info["extra"] = extra
	}
	return info
}

// options are the CreateOptions or UpdateOptions of the request.
func options(r *policy.Request) map[string]any {
	kind := "CreateOptions"
	if r.Operation == policy.Update {
		kind = "UpdateOptions"
	}
	options := map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": kind}
	if r.DryRun {
		options["dryRun"] = []any{"All"}
	}
	return options
}

func texts(values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}
