package celenv

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/preadmit/preadmit/engine/gvk"
)

// World answers what the functions of Kyverno's libraries ask a cluster, a registry, the
// network, a clock or chance. Objects that it returns are not modified.
type World interface {
	// Get returns an object by its plural resource, nil if it is missing.
	Get(apiVersion, resource, namespace, name string) (map[string]any, error)
	// List returns the objects of a resource that have the labels; in all namespaces if
	// namespace is empty.
	List(apiVersion, resource, namespace string, labels map[string]string) ([]any, error)
	// Resource returns the resource of a kind.
	Resource(apiVersion, kind string) (gvk.Resource, error)
	// Post returns what a server makes of an object that is sent to it.
	Post(apiVersion, resource, namespace string) (map[string]any, error)
	// Entry returns an entry of the global context, or a projection of it.
	Entry(name, projection string) (any, error)
	// Request answers a request to a URL; method is GET or POST.
	Request(method, url string) (body any, status int64, err error)
	// Image returns what a registry says of an image.
	Image(reference string) (map[string]any, error)
	Now() (time.Time, error)
	// Random returns a text that matches a regular expression.
	Random(pattern string) (string, error)
	// Needless is told of the error of an argument of orValue that nobody needs.
	Needless(err error)
}

// worldName is the variable under which evaluations find their World; no expression can
// write it.
const worldName = "@world"

func worldIn(vars interpreter.Activation) World {
	found, _ := vars.ResolveName(worldName)
	w, _ := found.(World)
	return w
}

// contextTypes are the types of the variables whose members ask, or compute.
var contextTypes = map[string]*types.Type{
	"resource":      types.NewOpaqueType("resource.Context"),
	"globalContext": types.NewOpaqueType("globalcontext.Context"),
	"http":          types.NewOpaqueType("http.Context"),
	"image":         types.NewOpaqueType("imagedata.Context"),
	"json":          types.NewOpaqueType("json.Json"),
	"yaml":          types.NewOpaqueType("yaml.Yaml"),
}

// contextValue is the value of such a variable.
type contextValue struct {
	opaque
	World // nil: nothing answers
}

// Equal implements ref.Val.
func (c contextValue) Equal(other ref.Val) ref.Val {
	d, ok := other.(contextValue)
	return types.Bool(ok && c.typ == d.typ)
}

// Value implements ref.Val.
func (c contextValue) Value() any { return c }

var errNoWorld = errors.New("nothing answers here")

// ask calls a method of the World that a value stands for. The error, as that of a
// function, says what failed.
func ask[T any](value ref.Val, failed string, method func(World) (T, error)) (T, ref.Val) {
	var answer T
	c, ok := value.(contextValue)
	if !ok {
		return answer, types.MaybeNoSuchOverloadErr(value)
	}
	err := errNoWorld
	if c.World != nil {
		answer, err = method(c.World)
	}
	if err != nil {
		return answer, types.WrapErr(fmt.Errorf("%s: %w", failed, err))
	}
	return answer, nil
}
