package krmfn

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// completion prints a script for a shell.
func (p *Process) completion(_ context.Context, given arguments) int {
	scripts := map[string]func(w io.Writer){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	if len(given.operands) == 1 && scripts[given.operands[0]] != nil {
		return p.write(scripts[given.operands[0]])
	}
	return p.misused(misusef("argument-invalid", "expected one shell: %s", source.Alternatives([]string{"bash", "zsh", "fish"})), "preadmit completion --help")
}

func bashCompletion(w io.Writer) {
	var names []string
	fmt.Fprint(w, "_preadmit() {\n  local words=\"\" choices=\"\" values=\"\"\n  case \"${COMP_WORDS[1]}\" in\n")
	for _, c := range commands() {
		names = append(names, c.name)
		var flags, values []string
		for _, o := range settings.Flags(c.name) {
			flags = append(flags, "--"+o.Flag)
			if len(o.Values) > 0 && !o.IsSwitch() {
				values = append(values, fmt.Sprintf("%s) values=\"%s\" ;;", strings.ReplaceAll(strings.TrimSuffix(flagUsage(o), " "+o.Arg), ", ", "|"), strings.Join(o.Values, " ")))
			}
		}
		fmt.Fprintf(w, "  %s) words=\"%s\"", c.name, strings.Join(append(flags, "--help"), " "))
		if choices := c.choices(); choices != nil {
			fmt.Fprintf(w, " choices=\"%s\"", strings.Join(choices, " "))
		}
		if values != nil {
			fmt.Fprintf(w, "; case \"$3\" in %s esac", strings.Join(values, " "))
		}
		fmt.Fprint(w, " ;;\n")
	}
	fmt.Fprintf(w, `  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "%s" -- "$2"))
  elif [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$2"))
  elif [[ "$2" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$2"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$2"))
  else
    COMPREPLY=($(compgen -f -- "$2"))
  fi
}
complete -o filenames -F _preadmit preadmit
`, strings.Join(names, " "))
}

// zshCompletion prints the script of bash, which zsh can run.
func zshCompletion(w io.Writer) {
	fmt.Fprint(w, "#compdef preadmit\nautoload -U +X bashcompinit && bashcompinit\n")
	bashCompletion(w)
}

func fishCompletion(w io.Writer) {
	for _, c := range commands() {
		fmt.Fprintf(w, "complete -c preadmit -n __fish_use_subcommand -f -a %s -d '%s'\n", c.name, quoteFish(c.summary))
		if choices := c.choices(); choices != nil {
			fmt.Fprintf(w, "complete -c preadmit -n '__fish_seen_subcommand_from %s' -f -a '%s'\n", c.name, strings.Join(choices, " "))
		}
		for _, o := range settings.Flags(c.name) {
			short := ""
			if o.Short != "" {
				short = " -s " + o.Short
			}
			switch {
			case o.Arg != "" && len(o.Values) > 0:
				short += " -x -a '" + strings.Join(o.Values, " ") + "'"
			case o.Arg != "":
				short += " -r"
			}
			fmt.Fprintf(w, "complete -c preadmit -n '__fish_seen_subcommand_from %s' -l %s%s -d '%s'\n", c.name, o.Flag, short, quoteFish(o.Help))
		}
	}
}

// choices returns the words that the first argument must be one of; nil if any word is allowed.
func (c *command) choices() []string {
	words := strings.Fields(c.usage)
	if len(words) > 2 && strings.Contains(words[2], "|") && !strings.HasPrefix(words[2], "[") {
		return strings.Split(words[2], "|")
	}
	return nil
}

func quoteFish(text string) string {
	return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text)
}

const completionText = `Print a script that completes commands and flags in a shell.

Usage:
  %s

Examples:
  source <(preadmit completion bash)
  preadmit completion fish > ~/.config/fish/completions/preadmit.fish
`

func completionHelp(c *command, w io.Writer) { fmt.Fprintf(w, completionText, c.usage) }
