package krmfn

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/preadmit/preadmit/engine/source"
)

// arguments are the arguments of one command.
type arguments struct {
	settings []setting
	operands []string
	// dashed says that the operands follow "--".
	dashed bool
	// bare says that the program was started without any arguments.
	bare bool
}

// setting is one flag with its value.
type setting struct {
	option *option
	text   string
}

// errHelp says that the user asked for help.
var errHelp = pflag.ErrHelp

// parseFlags reads the flags of a command, which may come before and after the
// operands.
func parseFlags(c *command, args []string) (arguments, error) {
	var given arguments
	set := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
	set.Usage = func() {}
	set.SetInterspersed(c.name != "exec") // whose operands have flags of their own
	var names []string
	for _, o := range optionsOf(c) {
		names = append(names, "--"+o.flag)
		flag := set.VarPF(&flagValue{o, &given.settings}, o.flag, o.short, o.help)
		if o.isSwitch() {
			flag.NoOptDefVal = "true"
		}
	}
	if err := set.Parse(args); err != nil {
		return given, explainFlag(err, names)
	}
	given.operands, given.dashed = set.Args(), set.ArgsLenAtDash() == 0
	return given, nil
}

// explainFlag puts an error about a flag into our words. That about an unknown one
// names the nearest known one.
func explainFlag(err error, names []string) error {
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
	if best := source.Nearest(name, names); best != "" {
		return misusef("flag-unknown", "unknown flag %s; did you mean %s?", name, best)
	}
	return misusef("flag-unknown", "unknown flag %s", name)
}

// flagValue notes the values of a flag in the order of the command line.
type flagValue struct {
	option   *option
	settings *[]setting
}

// Set implements pflag.Value.
func (v *flagValue) Set(text string) error {
	if err := v.option.set(new(config), text, path{}); err != nil {
		return err
	}
	*v.settings = append(*v.settings, setting{v.option, text})
	return nil
}

// String implements pflag.Value.
func (v *flagValue) String() string { return "" }

// Type implements pflag.Value.
func (v *flagValue) Type() string { return v.option.arg }

// apply gives a config the values of the flags. They win over what it has, or are
// added to it.
func (given arguments) apply(c *config) {
	for _, s := range given.settings {
		// parseFlags has found the value good.
		_ = s.option.set(c, s.text, path{label: "--" + s.option.flag})
	}
}
