package celenv

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/preadmit/preadmit/engine/limit"
)

// boundedRegex are functions of CEL's regex library whose result grows with the product of the
// arguments.
func boundedRegex() []cel.EnvOption {
	text := cel.StringType
	replace := cel.FunctionBinding(func(args ...ref.Val) ref.Val {
		count := types.Int(-1)
		if len(args) > 3 {
			count = args[3].(types.Int)
		}
		return replacePattern(string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String)), count)
	})
	return []cel.EnvOption{cel.Function("regex.replace",
		cel.Overload("regex_replace_string_string_string", []*cel.Type{text, text, text}, text, replace),
		cel.Overload("regex_replace_string_string_string_int", []*cel.Type{text, text, text, cel.IntType}, text, replace))}
}

func replacePattern(text, pattern, replacement string, count types.Int) ref.Val {
	switch {
	case count == 0:
		return types.String(text)
	case count > math.MaxInt32:
		return types.NewErr("integer overflow")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return types.WrapErr(err)
	}
	var out strings.Builder
	last := 0
	for _, match := range re.FindAllStringSubmatchIndex(text, int(max(count, -1))) {
		out.WriteString(text[last:match[0]])
		if err := expandGroups(&out, text, replacement, match); err != nil {
			return types.WrapErr(err)
		}
		if last = match[1]; out.Len() > limit.TextBytes {
			return textTooLong("regex.replace")
		}
	}
	out.WriteString(text[last:])
	if out.Len() > limit.TextBytes {
		return textTooLong("regex.replace")
	}
	return types.String(out.String())
}

// expandGroups writes a replacement, in which \1 is the first group of a match.
func expandGroups(out *strings.Builder, text, replacement string, match []int) error {
	for i := 0; i < len(replacement); i++ {
		if replacement[i] != '\\' {
			out.WriteByte(replacement[i])
			continue
		}
		i++
		switch {
		case i == len(replacement):
			return fmt.Errorf(`invalid replacement string: '%s' \ not allowed at end`, replacement)
		case replacement[i] == '\\':
			out.WriteByte('\\')
			continue
		case replacement[i] < '0' || replacement[i] > '9':
			return fmt.Errorf(`invalid replacement string: '%s' \ must be followed by a digit or \`, replacement)
		}
		group := int(replacement[i] - '0')
		if groups := len(match)/2 - 1; group > groups {
			return fmt.Errorf("replacement string references group %d but regex has only %d group(s)", group, groups)
		}
		if match[2*group] >= 0 {
			out.WriteString(text[match[2*group]:match[2*group+1]])
		}
		if out.Len() > limit.TextBytes {
			return nil // the caller reports it
		}
	}
	return nil
}
