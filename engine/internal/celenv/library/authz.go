package library

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/preadmit/preadmit/engine/internal/dns"
)

// The types of the values on the way to a decision of an authorizer.
var (
	AuthorizerType    = cel.ObjectType("kubernetes.authorization.Authorizer")
	PathCheckType     = cel.ObjectType("kubernetes.authorization.PathCheck")
	GroupCheckType    = cel.ObjectType("kubernetes.authorization.GroupCheck")
	ResourceCheckType = cel.ObjectType("kubernetes.authorization.ResourceCheck")
	DecisionType      = cel.ObjectType("kubernetes.authorization.Decision")
)

// Check decides whether something is allowed. The answer does not depend on the question,
// because only a cluster knows the rights of users.
type Check func() (allowed bool, err error)

// Authorizer returns the value of the variable authorizer.
func Authorizer(check Check) ref.Val { return newAuthorization(AuthorizerType, check) }

// ResourceCheck returns the value of the variable authorizer.requestResource.
func ResourceCheck(check Check) ref.Val { return newAuthorization(ResourceCheckType, check) }

// authorization is a value of one of the types.
type authorization struct {
	typ   *types.Type
	check Check
	// allowed and err are the result of a decision.
	allowed bool
	err     error
}

func newAuthorization(typ *cel.Type, check Check) *authorization {
	//lint:ignore SA1019 the API server makes its types so, without the traits of objects
	return &authorization{typ: types.NewTypeValue(typ.TypeName()), check: check}
}

// Authz returns the library for asking an authorizer.
func Authz() cel.EnvOption {
	str := cel.StringType
	decision := signature{DecisionType}
	return newLibrary(
		on(signature{AuthorizerType, str}, "path", "authorizer_path", PathCheckType, step(PathCheckType, notBlank("path"))),
		on(signature{AuthorizerType, str}, "group", "authorizer_group", GroupCheckType, step(GroupCheckType, nil)),
		on(signature{AuthorizerType, str, str}, "serviceAccount", "authorizer_serviceaccount", AuthorizerType, cel.FunctionBinding(serviceAccount)),
		on(signature{GroupCheckType, str}, "resource", "groupcheck_resource", ResourceCheckType, step(ResourceCheckType, notBlank("resource"))),
		narrowing("subresource", "resourcecheck_subresource"),
		narrowing("namespace", "resourcecheck_namespace"),
		narrowing("name", "resourcecheck_name"),
		cel.Function("check",
			cel.MemberOverload("pathcheck_check", signature{PathCheckType, str}, DecisionType, cel.BinaryBinding(decide)),
			cel.MemberOverload("resourcecheck_check", signature{ResourceCheckType, str}, DecisionType, cel.BinaryBinding(decide))),
		on(decision, "errored", "decision_errored", cel.BoolType, saying(func(d *authorization) ref.Val { return types.Bool(d.err != nil) })),
		on(decision, "error", "decision_error", str, saying(func(d *authorization) ref.Val {
			if d.err == nil {
				return types.String("")
			}
			return types.String(d.err.Error())
		})),
		on(decision, "allowed", "decision_allowed", cel.BoolType, saying(func(d *authorization) ref.Val { return types.Bool(d.allowed) })),
		on(decision, "reason", "decision_reason", str, saying(func(*authorization) ref.Val { return types.String("") })),
	)
}

// AuthzSelectors returns the library for narrowing a question to an authorizer by selectors.
func AuthzSelectors() cel.EnvOption {
	return newLibrary(
		narrowing("fieldSelector", "authorizer_fieldselector"),
		narrowing("labelSelector", "authorizer_labelselector"),
	)
}

// step returns a function that makes the next value on the way to a decision; refuse returns the
// error of its argument.
func step(to *cel.Type, refuse func(argument string) error) cel.OverloadOpt {
	return cel.BinaryBinding(func(from, argument ref.Val) ref.Val {
		if refuse != nil {
			if err := refuse(string(argument.(types.String))); err != nil {
				return types.NewErr("%v", err)
			}
		}
		return newAuthorization(to, from.(*authorization).check)
	})
}

// narrowing declares a function that narrows a question about a resource. The answer here stays
// the same.
func narrowing(name, overload string) cel.EnvOption {
	return on(signature{ResourceCheckType, cel.StringType}, name, overload, ResourceCheckType, step(ResourceCheckType, nil))
}

func notBlank(what string) func(string) error {
	return func(argument string) error {
		if strings.TrimSpace(argument) == "" {
			return fmt.Errorf("%s must not be empty", what)
		}
		return nil
	}
}

func serviceAccount(args ...ref.Val) ref.Val {
	namespace, name := string(args[1].(types.String)), string(args[2].(types.String))
	switch {
	case len(dns.Subdomain(name)) > 0:
		return types.NewErr("Invalid service account name")
	case len(dns.Label(namespace)) > 0:
		return types.NewErr("Invalid service account namespace")
	}
	return newAuthorization(AuthorizerType, args[0].(*authorization).check)
}

func decide(question, _ ref.Val) ref.Val {
	decision := newAuthorization(DecisionType, nil)
	decision.allowed, decision.err = question.(*authorization).check()
	return decision
}

func saying(what func(decision *authorization) ref.Val) cel.OverloadOpt {
	return cel.UnaryBinding(func(decision ref.Val) ref.Val { return what(decision.(*authorization)) })
}

// ConvertToNative implements ref.Val.
func (a *authorization) ConvertToNative(want reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from '%s' to '%v'", a.typ, want)
}

// ConvertToType implements ref.Val.
func (a *authorization) ConvertToType(want ref.Type) ref.Val {
	if want == types.TypeType {
		return a.typ
	}
	return types.NewErr("type conversion error from '%s' to '%s'", a.typ, want)
}

// Equal implements ref.Val. As on the server, no two of these values can be compared.
func (a *authorization) Equal(other ref.Val) ref.Val { return types.MaybeNoSuchOverloadErr(other) }

// Type implements ref.Val.
func (a *authorization) Type() ref.Type { return a.typ }

// Value implements ref.Val.
func (a *authorization) Value() any { return types.NoSuchOverloadErr() }
