// Package cmdline contains code that concerto and concerto-relay share for their command lines: the
// flag --format, the former names of commands and flags, and the layout of help.
package cmdline

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Format is the value of --format: the form in which a command prints its result.
type Format struct {
	value string
	forms []string
}

// AddFormat adds the flag --format to a command. forms are the valid values; the first one is the
// default.
func AddFormat(c *cobra.Command, forms ...string) *Format {
	return AddFormatUsage(c, "print as `FORMAT`: "+list(forms)+" (default "+forms[0]+")", forms...)
}

// AddFormatUsage is AddFormat with the given help text.
func AddFormatUsage(c *cobra.Command, usage string, forms ...string) *Format {
	f := &Format{forms[0], forms}
	c.Flags().Var(f, "format", usage)
	err := c.RegisterFlagCompletionFunc("format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return forms, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag was added above
	}
	return f
}

// IsText reports whether the command prints its result as text for people.
func (f *Format) IsText() bool { return f.value == "text" }

func (f *Format) String() string { return f.value }

// Type returns the type's name for package pflag.
func (f *Format) Type() string { return "string" }

// Set implements pflag.Value. Its error is a *ChoiceError.
func (f *Format) Set(value string) error {
	if !slices.Contains(f.forms, value) {
		return &ChoiceError{"--format", value, f.forms}
	}
	f.value = value
	return nil
}

// ChoiceError is the error for a flag value that is not one of the valid values.
type ChoiceError struct {
	Name, Value string
	Choices     []string
}

func (e *ChoiceError) Error() string {
	return "invalid value \"" + e.Value + "\" for " + e.Name
}

// Hint returns the next step: the most similar valid value, or all valid values.
func (e *ChoiceError) Hint() string {
	if near := suggest.Nearest(e.Value, e.Choices); near != "" {
		return "did you mean " + near + "?"
	}
	return "use " + list(e.Choices)
}

// list joins words with commas and "or".
func list(words []string) string {
	n := len(words) - 1
	if n == 0 {
		return words[0]
	}
	return strings.Join(words[:n], ", ") + " or " + words[n]
}
