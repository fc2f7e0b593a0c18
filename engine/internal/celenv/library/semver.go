package library

import (
	"errors"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	values "k8s.io/apiserver/pkg/cel"
)

// Semver returns the library of semantic versions, in version 1.
func Semver() cel.EnvOption {
	version, aText, tolerant := signature{values.SemverType}, signature{cel.StringType}, signature{cel.StringType, cel.BoolType}
	return newLibrary(append(comparisons(values.SemverType, "semver", semver.Version.Compare),
		cel.Function("semver",
			cel.Overload("string_to_semver", aText, values.SemverType, unary(func(s string) ref.Val { return parseVersion(s, false) })),
			cel.Overload("string_bool_to_semver", tolerant, values.SemverType, binary(parseVersion))),
		cel.Function("isSemver",
			cel.Overload("is_semver_string", aText, cel.BoolType, unary(func(s string) ref.Val { return isVersion(s, false) })),
			cel.Overload("is_semver_string_bool", tolerant, cel.BoolType, binary(isVersion))),
		on(version, "major", "semver_major", cel.IntType, integer(func(v semver.Version) uint64 { return v.Major })),
		on(version, "minor", "semver_minor", cel.IntType, integer(func(v semver.Version) uint64 { return v.Minor })),
		on(version, "patch", "semver_patch", cel.IntType, integer(func(v semver.Version) uint64 { return v.Patch })),
	)...)
}

func parseVersion(s string, normalize bool) ref.Val {
	version, err := versionOf(s, normalize)
	if err != nil {
		return types.WrapErr(err)
	}
	return values.Semver{Version: version}
}

func isVersion(s string, normalize bool) ref.Val {
	_, err := versionOf(s, normalize)
	return types.Bool(err == nil)
}

// versionOf parses a version. Normalizing removes "v" and leading zeros, and adds missing
// numbers.
func versionOf(s string, normalize bool) (semver.Version, error) {
	if !normalize {
		return semver.Parse(s)
	}
	parts := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	for i, part := range parts {
		if len(part) < 2 {
			continue
		}
		parts[i] = strings.TrimLeft(part, "0")
		if parts[i] == "" || parts[i][0] < '0' || parts[i][0] > '9' {
			parts[i] = "0" + parts[i]
		}
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return semver.Version{}, errors.New("short version cannot contain PreRelease/Build meta data")
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return semver.Parse(strings.Join(parts, "."))
}
