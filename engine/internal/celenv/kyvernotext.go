package celenv

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"  // #nosec G501 -- a function of Kyverno's
	"crypto/sha1" // #nosec G505 -- a function of Kyverno's
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
)

// texts declares functions that read and write JSON and YAML, compress and hash.
func (l kyvernoLibrary) texts() []cel.EnvOption {
	jsonType, yamlType := contextTypes["json"], contextTypes["yaml"]
	options := []cel.EnvOption{
		cel.Variable("json", jsonType), cel.Variable("yaml", yamlType),
		cel.Function("unmarshal", cel.MemberOverload("unmarshal_string_dyn", []*cel.Type{jsonType, cel.DynType}, cel.DynType,
			cel.BinaryBinding(func(_, text ref.Val) ref.Val { return l.parsed(text, parseJSON) }))),
		cel.Function("marshal", cel.MemberOverload("marshal_dyn_string", []*cel.Type{jsonType, cel.DynType}, cel.StringType,
			cel.BinaryBinding(func(_, value ref.Val) ref.Val { return marshal(value) }))),
		cel.Function("parse", cel.MemberOverload("parse_string_dyn", []*cel.Type{yamlType, cel.StringType}, cel.DynType,
			cel.BinaryBinding(func(_, text ref.Val) ref.Val { return l.parsed(text, parseYAML) }))),
		cel.Function("gzip.compress", cel.Overload("compress_any_bytes", []*cel.Type{cel.DynType}, cel.BytesType, cel.UnaryBinding(compress))),
		cel.Function("gzip.decompress", cel.Overload("decompress_bytes_string", []*cel.Type{cel.BytesType}, cel.StringType, cel.UnaryBinding(decompress))),
	}
	for name, sum := range map[string]func(text string) []byte{
		"md5":    func(text string) []byte { s := md5.Sum([]byte(text)); return s[:] },  // #nosec G401
		"sha1":   func(text string) []byte { s := sha1.Sum([]byte(text)); return s[:] }, // #nosec G401
		"sha256": func(text string) []byte { s := sha256.Sum256([]byte(text)); return s[:] },
	} {
		hash := cel.UnaryBinding(func(text ref.Val) ref.Val { return types.String(hex.EncodeToString(sum(string(text.(types.String))))) })
		options = append(options,
			cel.Function(name, cel.Overload(name+"_string_non_prefixed", []*cel.Type{cel.StringType}, cel.StringType, hash)),
			cel.Function("hash."+name, cel.Overload(name+"_string_prefixed", []*cel.Type{cel.StringType}, cel.StringType, hash)))
	}
	return options
}

// parsed returns the value that a text contains.
func (l kyvernoLibrary) parsed(value ref.Val, parse func(text string) (any, error)) ref.Val {
	text, err := nativeOf[string](value)
	if err != nil {
		return types.WrapErr(err)
	}
	parsed, err := parse(text)
	if err != nil {
		return types.WrapErr(err)
	}
	if _, fits := limit.Size(parsed, limit.ObjectBytes); !fits {
		return types.WrapErr(limit.Exceeded(limit.Expression, "parse less at once", "the text holds a value of more than %d MiB", limit.ObjectBytes>>20))
	}
	return l.NativeToValue(parsed)
}

func parseJSON(text string) (parsed any, err error) {
	err = json.Unmarshal([]byte(text), &parsed)
	return parsed, err
}

// parseYAML parses YAML as Kyverno does, which converts it to JSON first.
func parseYAML(text string) (any, error) {
	parsed, err := manifest.Value(text)
	return number.Floats(parsed), err
}

func marshal(value ref.Val) ref.Val {
	native, err := jsonOf(value)
	if err != nil {
		return types.WrapErr(err)
	}
	text, err := json.Marshal(native)
	switch {
	case err != nil:
		return types.WrapErr(err)
	case len(text) > limit.TextBytes:
		return textTooLong("json.marshal")
	}
	return types.String(text)
}

// jsonOf converts a value to a value that Go's JSON encoder prints. It supports bytes,
// timestamps and durations.
func jsonOf(value ref.Val) (any, error) {
	switch value := value.(type) {
	case types.Null:
		return nil, nil
	case *types.Optional:
		if !value.HasValue() {
			return nil, nil
		}
		return jsonOf(value.GetValue())
	}
	return parts(value, jsonOf, stringKey("a map with keys that are not strings has no form in JSON"))
}

func compress(value ref.Val) ref.Val {
	text, err := nativeOf[string](value)
	if err != nil {
		return types.WrapErr(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		return types.WrapErr(err)
	}
	if err := w.Close(); err != nil {
		return types.WrapErr(err)
	}
	return types.Bytes(out.Bytes())
}

func decompress(value ref.Val) ref.Val {
	r, err := gzip.NewReader(bytes.NewReader(value.(types.Bytes)))
	if err != nil {
		return types.WrapErr(err)
	}
	text, err := io.ReadAll(io.LimitReader(r, limit.TextBytes+1))
	switch {
	case err != nil:
		return types.WrapErr(err)
	case len(text) > limit.TextBytes:
		return textTooLong("gzip.decompress")
	}
	return types.String(text)
}
