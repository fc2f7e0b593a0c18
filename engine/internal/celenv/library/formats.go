package library

import (
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/validate/content"
	values "k8s.io/apiserver/pkg/cel"

	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// formats are the named formats of texts. The cost of a check depends on the size of the API
// server's regular expression, which is given here.
var formats = map[string]values.Format{
	"dns1123Label":           {Name: "DNS1123Label", ValidateFunc: dns.Label, MaxRegexSize: 30},
	"dns1123Subdomain":       {Name: "DNS1123Subdomain", ValidateFunc: dns.Subdomain, MaxRegexSize: 60},
	"dns1035Label":           {Name: "DNS1035Label", ValidateFunc: dns.Label1035, MaxRegexSize: 30},
	"qualifiedName":          {Name: "QualifiedName", ValidateFunc: content.IsLabelKey, MaxRegexSize: 60},
	"dns1123LabelPrefix":     {Name: "DNS1123LabelPrefix", ValidateFunc: prefix(dns.Label), MaxRegexSize: 30},
	"dns1123SubdomainPrefix": {Name: "DNS1123SubdomainPrefix", ValidateFunc: prefix(dns.Subdomain), MaxRegexSize: 60},
	"dns1035LabelPrefix":     {Name: "DNS1035LabelPrefix", ValidateFunc: prefix(dns.Label1035), MaxRegexSize: 30},
	"labelValue":             {Name: "LabelValue", ValidateFunc: content.IsLabelValue, MaxRegexSize: 40},
	"uri":                    {Name: "URI", ValidateFunc: uriProblems, MaxRegexSize: 1103},
	"uuid":                   {Name: "uuid", ValidateFunc: must(isUUID, "does not match the UUID format"), MaxRegexSize: 70},
	"byte":                   {Name: "byte", ValidateFunc: must(isBase64, "invalid base64"), MaxRegexSize: 84},
	"date":                   {Name: "date", ValidateFunc: must(isDate, "invalid date"), MaxRegexSize: 71},
	"datetime":               {Name: "datetime", ValidateFunc: must(isDateTime, "invalid datetime"), MaxRegexSize: 71},
}

// Format returns the library of named formats.
func Format() cel.EnvOption {
	functions := []cel.EnvOption{
		on(signature{values.FormatType, cel.StringType}, "validate", "format-validate",
			cel.OptionalType(cel.ListType(cel.StringType)), binary(validate)),
		of(signature{cel.StringType}, "format.named", "format-named", cel.OptionalType(values.FormatType), unary(func(name string) ref.Val {
			if format, ok := formats[name]; ok {
				return types.OptionalOf(format)
			}
			return types.OptionalNone
		})),
	}
	for name, format := range formats {
		name = "format." + name
		functions = append(functions, of(nil, name, name, values.FormatType, cel.FunctionBinding(func(...ref.Val) ref.Val { return format })))
	}
	return newLibrary(functions...)
}

func validate(format values.Format, s string) ref.Val {
	problems := format.ValidateFunc(s)
	if len(problems) == 0 {
		return types.OptionalNone
	}
	return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, problems))
}

// prefix checks a name to which a suffix will be added, so that it may end with a dash. Like the
// server, it also drops the character before the dash.
func prefix(problems func(string) []string) func(string) []string {
	return func(s string) []string {
		if len(s) > 1 && strings.HasSuffix(s, "-") {
			s = s[:len(s)-2] + "a"
		}
		return problems(s)
	}
}

// must returns the validation of a format from a test of texts.
func must(have func(string) bool, problem string) func(string) []string {
	return func(s string) []string {
		if have(s) {
			return nil
		}
		return []string{problem}
	}
}

func uriProblems(s string) []string {
	if _, err := url.ParseRequestURI(s); err != nil {
		return []string{err.Error()}
	}
	return nil
}

var (
	uuid      = lazyregexp.New(`^[[:xdigit:]]{8}(-?[[:xdigit:]]{4}){3}-?[[:xdigit:]]{12}$`)
	timeOfDay = lazyregexp.New(`^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)$`)
)

func isUUID(s string) bool { return uuid().MatchString(s) }

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil && s != "" && !strings.ContainsAny(s, "\r\n")
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime reports whether a text is a date, "t" and a time of day with its zone, in upper or
// lower case. Like the server, it ignores text after another "t".
func isDateTime(s string) bool {
	parts := strings.Split(strings.ToLower(s), "t")
	return len(parts) > 1 && isDate(parts[0]) && timeOfDay().MatchString(parts[1])
}
