package krmfn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/preadmit/preadmit/internal/settings"
)

// arguments are the arguments of one command.
type arguments struct {
	// flags are the flags as given, and settings have the values of the configuration file in
	// addition.
	flags, settings []setting
	// command is the command, and file the configuration file, or nil.
	command  string
	file     *settings.File
	operands []string
	// dashed reports that the operands follow "--".
	dashed bool
	// bare reports that the program was started without arguments.
	bare bool
}

// setting is an option with its value. from names its place in messages.
type setting struct {
	option *settings.Option
	text   string
	from   path
}

// errHelp is the error for -h and --help.
var errHelp = pflag.ErrHelp

// parseFlags reads the flags of a command. Flags may be before and after the operands, except
// for exec.
func parseFlags(c *command, args []string) (arguments, error) {
	given := arguments{command: c.name}
	set := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	set.Usage = func() {}
	set.SetInterspersed(c.name != "exec") // the operands of exec are a command with its flags
	for _, o := range settings.Flags(c.name) {
		flag := set.VarPF(&flagValue{o, &given.flags, set}, o.Flag, o.Short, o.Help)
		if o.IsSwitch() {
			flag.NoOptDefVal = "true"
		}
	}
	if err := set.Parse(args); err != nil {
		return given, explainFlag(err, c.name)
	}
	given.operands, given.dashed = set.Args(), set.ArgsLenAtDash() == 0
	given.settings = given.flags
	return given, nil
}

// complete returns an error if a flag lacks another one that it needs.
func (given arguments) complete() error {
	for _, s := range given.flags {
		if needs := s.option.Needs; needs != "" && !given.has(needs) {
			return misusef("argument-invalid", "--%s needs --%s", s.option.Flag, needs)
		}
	}
	return nil
}

// has reports whether an option is given, and is not off.
func (given arguments) has(flag string) bool {
	return slices.ContainsFunc(given.settings, func(s setting) bool { return s.option.Flag == flag && s.text != "false" })
}

// explainFlag returns a better text for an error of pflag. For an unknown flag it names the
// most similar known flag.
func explainFlag(err error, command string) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return misusef("option-value", "flag --%s: %v", invalid.GetFlag().Name, invalid.Unwrap())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := "--" + unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		name = name[1:]
	}
	flag := func(o *settings.Option) string {
		if slices.Contains(o.Commands, command) {
			return "--" + o.Flag
		}
		return ""
	}
	if best := settings.Nearest(name, flag); best != "" {
		return misusef("flag-unknown", "unknown flag %s; did you mean %s?", name, best)
	}
	return misusef("flag-unknown", "unknown flag %s", name)
}

// flagValue collects the values of a flag in the order of the command line.
type flagValue struct {
	option   *settings.Option
	settings *[]setting
	// set has the flags of the command.
	set *pflag.FlagSet
}

// Set implements pflag.Value.
func (v *flagValue) Set(text string) error {
	if v.isFlag(text) {
		return fmt.Errorf("the value is missing: %s is a flag", text)
	}
	if err := v.option.Set(new(settings.Config), text); err != nil {
		return err
	}
	*v.settings = append(*v.settings, setting{v.option, text, path{label: "--" + v.option.Flag}})
	return nil
}

// isFlag reports whether a text is a flag of the command.
func (v *flagValue) isFlag(text string) bool {
	if name, ok := strings.CutPrefix(text, "--"); ok {
		return v.set.Lookup(name) != nil
	}
	return len(text) == 2 && text[0] == '-' && v.set.ShorthandLookup(text[1:]) != nil
}

// String implements pflag.Value.
func (v *flagValue) String() string { return "" }

// Type implements pflag.Value.
func (v *flagValue) Type() string { return v.option.Arg }

// apply sets the values of the flags and of the configuration file in a config. They replace a
// value, or are added to a list.
func (given arguments) apply(c *config) {
	c.given = given
	for _, s := range given.settings {
		// parseFlags and settings.ReadFile have checked the value.
		_ = c.set(s.option, s.text, s.from)
	}
}
