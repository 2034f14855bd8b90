package program

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// notStored lists the flags that are not stored with a run because they do not affect its
// resumption.
var notStored = []string{"journal", "park", "wait", "sync", "verify-snapshots", "snapshot-every", "watch", "eval", "input", "record", "trace", "profile", "transcript", "wire", "as-started", "accept-changes", "trust"}

// ChangedFlags returns the values of the flags that the user has set.
func ChangedFlags(all *pflag.FlagSet) map[string][]string {
	values := map[string][]string{}
	all.Visit(func(f *pflag.Flag) {
		if slices.Contains(notStored, f.Name) || cmdline.IsAlias(f) {
			return
		}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			values[f.Name] = many.GetSlice()
			return
		}
		values[f.Name] = []string{f.Value.String()}
	})
	return values
}

// RestoreFlags sets the flags that the run was started with, except the flags that the user has set
// for this command. Answers from both command lines are combined.
func RestoreFlags(all *pflag.FlagSet, stored json.RawMessage) error {
	var flags map[string][]string
	if stored == nil {
		return nil
	}
	if err := json.Unmarshal(stored, &flags); err != nil {
		return fmt.Errorf("the flags of the run: %w", err)
	}
	for name, values := range flags {
		f := all.Lookup(name)
		if f == nil || f.Changed && name != "answer" {
			continue
		}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			if err := many.Replace(append(values, many.GetSlice()...)); err != nil {
				return err
			}
			continue
		}
		for _, v := range values {
			if err := all.Set(name, v); err != nil {
				return fmt.Errorf("the flags of the run: --%s: %w", name, err)
			}
		}
	}
	return nil
}

// SubmittedFlags returns the values of the flags that the user has set and that apply to a run
// which another process executes.
func SubmittedFlags(all *pflag.FlagSet) map[string][]string {
	values := ChangedFlags(all)
	submitted := NewSubmittedFlags(&WorldFlags{})
	for name := range values {
		if submitted.Lookup(name) == nil {
			delete(values, name)
		}
	}
	return values
}

// NewSubmittedFlags returns the flags that apply to a run which another process executes.
func NewSubmittedFlags(f *WorldFlags) *pflag.FlagSet {
	c := &cobra.Command{}
	f.AddSubmitted(c)
	return c.Flags()
}
