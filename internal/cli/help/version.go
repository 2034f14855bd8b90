package help

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/process/procgroup/systems"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/ir"
)

// NewVersion returns the command version.
func NewVersion(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Prints the version. With --format json it prints one object, also with the commit, the modules, and
which features this system supports.`,
		Example: `  concerto version
  concerto version --format json`,
		Args: console.OnePath(false),
	}
	format := cmdline.AddFormat(c, "text", "json")
	c.RunE = func(*cobra.Command, []string) error {
		if !format.IsText() {
			return json.NewEncoder(a.Stdout).Encode(describe(a.Binary))
		}
		_, err := fmt.Fprintf(a.Stdout, "concerto %s\n", a.Binary.Version())
		return err
	}
	return c
}

// description is the result of `version --format json`.
type description struct {
	Version  string          `json:"version"`
	Commit   string          `json:"commit"` // "" if the program was not built in a repository
	Date     string          `json:"date"`   // of the commit, as in RFC 3339; or ""
	Modified bool            `json:"modified"`
	Go       string          `json:"go"`
	OS       string          `json:"os"`
	Arch     string          `json:"arch"`
	IR       string          `json:"ir"`
	Engine   int             `json:"engine"` // version of what journals and tapes depend on
	Features map[string]bool `json:"features"`
	Modules  []module        `json:"modules"` // as `go version -m` lists them
}

type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum"`
}

func describe(b console.Binary) *description {
	s := b.Source()
	d := &description{Version: b.Release, Commit: s.Commit, Date: s.Date, Modified: s.Modified,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, IR: ir.Version, Engine: tape.VMVersion,
		Features: systems.Supports(runtime.GOOS), Modules: []module{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	for _, m := range info.Deps {
		m = cmp.Or(m.Replace, m)
		d.Modules = append(d.Modules, module{m.Path, m.Version, m.Sum})
	}
	return d
}
