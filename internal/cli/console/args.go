package console

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// UnknownCommand rejects an argument of a command group that is not one of its commands.
func UnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	name := args[0]
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := "`" + c.CommandPath() + " --help` lists the commands"
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean `" + c.CommandPath() + " " + near + "`?"
	} else if strings.HasSuffix(name, ".conc") || strings.HasSuffix(name, ".conc-ir") {
		hint = "run it with `concerto run " + name + "`"
	}
	return Usage(hint, "unknown command %q", name)
}

// FlagError returns a usage error for an error of the flag parser, with the nearest flag as a hint.
func FlagError(c *cobra.Command, err error) error {
	if choice, ok := errors.AsType[*cmdline.ChoiceError](err); ok {
		return Usage(choice.Hint(), "%v", choice)
	}
	hint := fmt.Sprintf("`%s --help` lists the flags", c.CommandPath())
	var none *pflag.NotExistError
	if errors.As(err, &none) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !cmdline.IsAlias(f) {
				names = append(names, f.Name)
			}
		})
		name := none.GetSpecifiedName()
		if near := suggest.Nearest(name, names); near != "" {
			hint = "did you mean --" + near + "?"
		}
		if len(name) > 1 {
			return Usage(hint, "unknown flag --%s", name)
		}
		return Usage(hint, "unknown flag -%s", name)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && errors.As(err, new(*strconv.NumError)) {
		must := "an integer"
		if strings.HasPrefix(invalid.GetFlag().Value.Type(), "float") {
			must = "a number"
		}
		return Usage(hint, "invalid value %q for --%s: must be %s", invalid.GetValue(), invalid.GetFlag().Name, must)
	}
	return Usage(hint, "%v", err)
}

// OnePath accepts at most one argument before `--`. If rest is true, it also accepts arguments
// after `--`, which are passed to the program.
func OnePath(rest bool) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		before := args
		if n := c.ArgsLenAtDash(); n >= 0 {
			before = args[:n]
			if !rest && len(args) > n {
				return Usage("only `concerto run` passes arguments to a program", "%s takes no arguments after `--`", c.Name())
			}
		}
		if len(before) > 1 {
			hint := "give only one path"
			if rest {
				hint = "put arguments for the program after `--`, and a task in quotes"
				if strings.Contains(before[1], " ") {
					hint = fmt.Sprintf("put it after `--`: concerto run %s -- %q", before[0], before[1])
				}
			}
			for _, k := range permit.Kinds {
				if f := c.Flags().Lookup(k.Flag); f != nil && f.Changed && f.Value.String() == Everything {
					hint = "write the list after `=`: --" + k.Flag + "=" + before[0]
				}
			}
			return Usage(hint, "%s takes one path, not %d", c.Name(), len(before))
		}
		return nil
	}
}

// Path returns the PATH argument, or "", and the arguments after `--`.
func Path(c *cobra.Command, args []string) (path string, rest []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		args, rest = args[:n], args[n:]
	}
	if len(args) > 0 {
		path = args[0]
	}
	return path, rest
}

// TimeForms are the layouts of times on the command line.
var TimeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"}

// OneOf returns a usage error unless list contains v, the value of flag.
func OneOf(flag, v string, list []string) error {
	if slices.Contains(list, v) {
		return nil
	}
	hint := fmt.Sprintf("use %s or %s", strings.Join(list[:len(list)-1], ", "), list[len(list)-1])
	if near := suggest.Nearest(v, list); near != "" {
		hint = "did you mean " + near + "?"
	}
	return Usage(hint, "invalid value %q for %s", v, flag)
}

// Arguments accepts from least to most arguments; most is -1 for no limit.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		_, arguments, _ := strings.Cut(c.Use, " ")
		hint := "`" + c.CommandPath() + " --help` shows examples"
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, c.CommandPath()+" ") {
				hint = "for example: " + strings.TrimSpace(comment().ReplaceAllString(line, ""))
				break
			}
		}
		return Usage(hint, "%s takes %s", c.CommandPath(), arguments)
	}
}

// comment matches the remark after a command in an example.
var comment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` {2,}.*$`) })

// NoArguments rejects all arguments.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usage("`"+c.CommandPath()+" --help` lists the flags", "%s takes no arguments", c.CommandPath())
	}
	return nil
}

// Everything is the value of a list flag that has no value on the command line.
const Everything = "*"

// ParseDuration parses the value of a flag: a duration such as 500ms, 6s, 1h30m or 7d.
func ParseDuration(flag, text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	return 0, Usage("write a duration such as 500ms, 6s, 1h30m or 7d", "invalid value %q for %s", text, flag)
}
