package mutationtree

import (
	"context"
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// The syntax of strings in trees, as in kyverno-json (pkg/core/expression, 2024-10): "(jp;
// expression)" or "(expression)", and "\text\" for literal text. An expression is on one line.
var (
	expressionSyntax = lazyregexp.New(`^\((?:(\w+);)?(.+)\)$`)
	escapeSyntax     = lazyregexp.New(`^\\(.+)\\$`)
)

// The languages of expressions.
const (
	languageJP  = "jp"
	languageCEL = "cel"
)

// An expression computes a value from the bindings and from the value at its place, which is @
// in JMESPath and object in CEL. The result consists of plain Go values.
type expression interface {
	evaluate(ctx context.Context, value any, b *bindings) (any, error)
}

// A literal is the value of a scalar without an expression.
type literal struct{ value any }

func (l literal) evaluate(context.Context, any, *bindings) (any, error) { return l.value, nil }

// parseScalar parses a scalar of a tree. language is the default language of expressions.
func (c *compiler) parseScalar(value any, language string, at change.Path) expression {
	text, ok := value.(string)
	if !ok {
		return literal{value}
	}
	if m := escapeSyntax().FindStringSubmatch(text); m != nil {
		return literal{m[1]}
	}
	m := expressionSyntax().FindStringSubmatch(text)
	if m == nil {
		return literal{text}
	}
	if m[1] != "" {
		language = m[1]
	}
	return c.parseExpression(m[2], language, at, len(text)-1-len(m[2]))
}

// parseExpression compiles an expression that starts after offset bytes of the string at a path.
func (c *compiler) parseExpression(text, language string, at change.Path, offset int) expression {
	switch language {
	case languageJP:
		e, problems := compileJMESPath(text)
		for _, p := range problems {
			c.failIn(at, offset+p.Offset, "JMESPath: "+p.Text, p.Advice.In(text, p.Offset).Shifted(offset))
		}
		return e
	case languageCEL:
		program, err := c.cel.TreeExpression(text)
		if err != nil {
			c.failIn(at, offset+err.Offset, "CEL: "+err.Text, err.Mend.Shifted(offset))
		}
		return celExpression{program}
	default:
		c.failIn(at, 1, fmt.Sprintf("there is no expression language %q", language),
			source.Mend{Advice: `expected (jp; …) or (cel; …); write \(…)\ for a text that begins and ends like this one`})
		return literal{}
	}
}

type celExpression struct{ program *celenv.TreeProgram }

func (e celExpression) evaluate(ctx context.Context, value any, b *bindings) (any, error) {
	return e.program.Evaluate(ctx, value, func(name string) (any, error) { return b.resolve("$" + name) })
}
