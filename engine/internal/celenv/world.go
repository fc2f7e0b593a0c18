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

// World answers the functions of Kyverno's libraries that ask a cluster, a registry, the
// network, a clock or a random generator. Returned objects are not modified.
type World interface {
	// Get returns an object by its plural resource, nil if it is missing.
	Get(apiVersion, resource, namespace, name string) (map[string]any, error)
	// List returns the objects of a resource that have the labels; an empty namespace means all
	// namespaces.
	List(apiVersion, resource, namespace string, labels map[string]string) ([]any, error)
	// Resource returns the resource of a kind.
	Resource(apiVersion, kind string) (gvk.Resource, error)
	// Post returns the answer of a server to an object that is sent to it.
	Post(apiVersion, resource, namespace string) (map[string]any, error)
	// Entry returns an entry of the global context, or a projection of it.
	Entry(name, projection string) (any, error)
	// Request answers a request to a URL; method is GET or POST.
	Request(method, url string) (body any, status int64, err error)
	// Image returns the answer of a registry about an image.
	Image(reference string) (map[string]any, error)
	Now() (time.Time, error)
	// Random returns a text that matches a regular expression.
	Random(pattern string) (string, error)
}

// worldName is the variable that holds the World of an evaluation. Expressions cannot name it.
const worldName = "@world"

func worldIn(vars interpreter.Activation) World {
	found, _ := vars.ResolveName(worldName)
	w, _ := found.(World)
	return w
}

// contextTypes are the types of the variables whose members ask a World, or compute.
var contextTypes = map[string]*types.Type{
	"resource":      types.NewOpaqueType("resource.Context"),
	"globalContext": types.NewOpaqueType("globalcontext.Context"),
	"http":          types.NewOpaqueType("http.Context"),
	"image":         types.NewOpaqueType("imagedata.Context"),
	"json":          types.NewOpaqueType("json.Json"),
	"yaml":          types.NewOpaqueType("yaml.Yaml"),
}

// contextValue is the value of a variable of contextTypes.
type contextValue struct {
	opaque
	World // nil: all questions fail
}

// Equal implements ref.Val.
func (c contextValue) Equal(other ref.Val) ref.Val {
	d, ok := other.(contextValue)
	return types.Bool(ok && c.typ == d.typ)
}

// Value implements ref.Val.
func (c contextValue) Value() any { return c }

var errNoWorld = errors.New("nothing answers here")

// ask calls a method of the World in a value. The error is the error of a function, and begins
// with failed.
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
