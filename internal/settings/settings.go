// Package settings is the one table of options. The flags of the commands, the functionConfig, the
// keys of a ConfigMap, Terraform's schema, the options of the playground and the reference pages
// come from it.
//
// The files in order: settings.go (options and their values), table.go (the table), tree.go (options
// in nested maps), file.go (the configuration file of a repository), suggest.go (misspelt names).
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// Option is one option with its names in all frontends. An empty name means that the option does
// not exist there.
type Option struct {
	// Flag and Short are the names of the flag, Arg is the placeholder of its value in help.
	Flag, Short, Arg string
	// Commands are the commands that have the flag, and Needs is a flag without which it has no
	// effect.
	Commands []string
	Needs    string
	// Once says why a configuration file cannot set the option, if it cannot.
	Once string
	// Playground says that the page of the playground has the option.
	Playground bool
	// Field is the path below spec in a functionConfig, Key the key of a ConfigMap, and Attribute
	// the path in Terraform, in the scope Only.
	Field, Key, Attribute string
	Only                  Scope
	// Sensitive says that Terraform hides the value.
	Sensitive bool
	// Values are the allowed values; nil allows any value.
	Values []string
	// Valid returns an error if a value is wrong; nil allows all that Values do.
	Valid func(text string) error
	// Separated says that a flag may have a list of values, separated by commas.
	Separated bool
	// Default describes what holds without the option, and Since is the version of preadmit that
	// added it. Empty means: off or nothing, and the first version.
	Default, Since string
	// Help is the text for flags and fields, AttributeHelp that for Terraform, in Markdown.
	Help, AttributeHelp string
	// Files says that the values are paths of files with this role, Texts that they are the
	// documents themselves. Each frontend reads them in its own way.
	Files, Texts Role
	// Target returns a pointer to the value, for other options. Its type decides how values are
	// parsed: *string, *bool, *Size, *[]string or *map[string][]string.
	Target func(c *Config) any
	// Implies sets other options as a value needs them, unless they are given, too.
	Implies func(c *Config, value string)
}

// Scope is a part of the Terraform provider. The zero value is all of it.
type Scope int

// The parts of the Terraform provider.
const (
	DataSource Scope = iota + 1
	Functions
)

// Role is the purpose of documents.
type Role int

// The roles. Roles is the size of an array that has an element for each of them.
const (
	Manifests Role = iota + 1
	Policies
	Context
	OpenAPI
	Trees
	Old
	Values
	UserInfo
	WebhookAnswers
	Against // policies to compare with
	Verify  // manifests to verify a conversion with
	Dump    // objects of a cluster
	Roles   = int(iota + 1)
)

// Config has the values of the options that are no documents.
type Config struct {
	Engine engine.Options

	// Input.
	InputLimit                  Size
	AllowEmpty, AllowNoPolicies bool
	Ignore                      []string
	Build                       bool
	Shard, Base                 string
	// Release and ChartValues say how the only chart is rendered.
	Release     string
	ChartValues []string
	// Pods says that the objects that controllers create from the manifests are admitted, too.
	Pods bool

	// Output. Report is the file for a copy of the messages.
	Output                string
	Outputs               []string
	InPlace               bool
	OutputDir             string
	Prune, CopyOthers     bool
	Filter                report.Filter
	Stat, NameOnly, Quiet bool
	Full                  bool
	Color                 string
	ShowSecrets           bool
	Verbose, Stats        bool
	StatsFile, Report     string

	// Webhooks say who answers for webhooks, WebhookCA is a file with certificates of their servers, and
	// RecordWebhooks the file for their answers.
	Webhooks                  []string
	WebhookCA, RecordWebhooks string
	RecordSecrets             bool

	// Baseline is the file with the findings of the past, which WriteBaseline writes.
	Baseline      string
	WriteBaseline bool
	// Configuration is the configuration file, or "none".
	Configuration string

	// KubeContext and Kubectl say how a cluster is asked. The others say what a snapshot of it has.
	KubeContext, Kubectl            string
	Secrets, Definitions, PrintRole bool
	Resources                       []string
	// Snapshot is the path of a snapshot to verify.
	Snapshot string

	// For is the resource of Terraform that applies the results.
	For string
	// Update says that test writes the expected files. To is the kind that convert converts to.
	Update bool
	To     string
}

// Size is a number of bytes; zero means the default.
type Size int

// Flags returns the options that are flags of a command.
func Flags(command string) []*Option {
	return where(func(o *Option) bool { return slices.Contains(o.Commands, command) })
}

// where returns the options of the table that have a property.
func where(has func(o *Option) bool) []*Option {
	var found []*Option
	for i := range Table {
		if has(&Table[i]) {
			found = append(found, &Table[i])
		}
	}
	return found
}

// Find returns the option with a name among those that name gives a name, or nil.
func Find(text string, name func(o *Option) string) *Option {
	if i := slices.IndexFunc(Table, func(o Option) bool { return text != "" && name(&o) == text }); i >= 0 {
		return &Table[i]
	}
	return nil
}

// target returns a pointer to the value of the option; nil for documents.
func (o *Option) target(c *Config) any {
	if o.Target == nil {
		return nil
	}
	return o.Target(c)
}

// Type describes the values of an option, as in the type constraints of Terraform.
func (o *Option) Type() string {
	switch o.target(new(Config)).(type) {
	case nil, *[]string:
		return "list(string)"
	case *bool:
		return "bool"
	case *map[string][]string:
		return "map(list(string))"
	}
	return "string"
}

// IsSwitch reports whether the option is on or off.
func (o *Option) IsSwitch() bool { return o.Type() == "bool" }

// IsList reports whether the option takes any number of values.
func (o *Option) IsList() bool { return o.Type() == "list(string)" }

// Otherwise describes what holds without the option; "" means nothing.
func (o *Option) Otherwise() string {
	if o.IsSwitch() {
		return cmp.Or(o.Default, "false")
	}
	return o.Default
}

// Check returns an error if the option cannot have a value.
func (o *Option) Check(text string) error {
	switch {
	case text == "" && (o.Arg == "PATH" || o.Arg == "DIR"):
		return errors.New("the path is empty")
	case len(o.Values) > 0 && !slices.Contains(o.Values, text):
		return fmt.Errorf("%q is not a valid value; expected %s", text, source.Alternatives(o.Values))
	case o.Valid != nil:
		return o.Valid(text)
	}
	return nil
}

// Reset removes the value of the option. Documents have none.
func (o *Option) Reset(c *Config) {
	switch target := o.target(c).(type) {
	case *string:
		*target = ""
	case *bool:
		*target = false
	case *[]string:
		*target = nil
	}
}

// Set sets the option to a value, or adds the value to a list. Documents are only checked.
func (o *Option) Set(c *Config, text string) error {
	err := o.Check(text)
	if err != nil {
		return err
	}
	switch target := o.target(c).(type) {
	case *string:
		*target = text
		if o.Implies != nil {
			o.Implies(c, text)
		}
	case *bool:
		*target = text == "true"
	case *Size:
		var bytes int
		bytes, err = limit.ParseInput(text)
		*target = Size(bytes)
	case *[]string:
		if o.Separated {
			*target = append(*target, strings.Split(text, ",")...)
		} else {
			*target = append(*target, text)
		}
	}
	return err
}
