// Package doctor contains the command doctor, which checks whether this machine has what a program
// needs. It changes nothing and starts no host, no server and no model call.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// status is the result of a check.
type status string

// The statuses. Absent means that this system does not have the feature.
const (
	ok     status = "ok"
	warn   status = "warn"
	fail   status = "fail"
	absent status = "none"
)

// result is the result of one check. Do is the remedy of anything but ok.
type result struct {
	Name   string `json:"name"`
	Status status `json:"status"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"`
}

// maxDetail is the maximum length of a detail in bytes; the rest of a long command is omitted.
const maxDetail = 200

// contactTime is the maximum time to contact a server.
const contactTime = 3 * time.Second

// checks are the checks of the machine and of a project, in the order of the output. Each returns
// any number of results. needsProject means that the check needs a manifest without errors.
var checks = []struct {
	needsProject bool
	run          func(d *doctor) []result
}{
	{false, one("version", (*doctor).version)},
	{false, one("path", (*doctor).path)},
	{false, one("terminal", (*doctor).terminal)},
	{false, one("state", (*doctor).state)},
	{false, one("cache", (*doctor).cache)},
	{false, one("git", (*doctor).git)},
	{false, one("playground", (*doctor).playground)},
	{false, one("sandbox", (*doctor).sandbox)},
	{false, one("keeper", (*doctor).keeper)},
	{false, one("manifest", (*doctor).manifestCheck)},
	{true, one("lock", (*doctor).lock)},
	{true, one("permissions", (*doctor).permissions)},
	{true, (*doctor).connections},
	{true, (*doctor).hosts},
	{true, (*doctor).servers},
	{true, (*doctor).tools},
	{false, one("relay", (*doctor).relay)},
	{true, one("clock", (*doctor).clock)},
}

// one returns a check with one result, or none if its status is "".
func one(name string, check func(d *doctor) result) func(d *doctor) []result {
	return func(d *doctor) []result {
		r := check(d)
		if r.Status == "" {
			return nil
		}
		r.Name = name
		return []result{r}
	}
}

// doctor is the state of the checks.
type doctor struct {
	console *console.Console
	ctx     context.Context
	offline bool
	client  *http.Client
	now     func() time.Time

	root     string
	manifest *manifest.Manifest // nil without a project
	found    diag.List          // findings in the manifest
	replies  map[string]json.RawMessage

	mu    sync.Mutex
	skews []time.Duration // differences to the clocks of the servers that were reached
}

// New returns the command doctor.
func New(a *console.Console) *cobra.Command {
	var offline bool
	c := &cobra.Command{
		Use:   "doctor [PATH]",
		Short: "Check whether this machine has what a program needs",
		Long: `Checks this machine, and what the manifest of a project names: that commands are found, variables
are set, and servers accept connections. It changes nothing, starts no host and no server, calls no
model, and prints no variable's value. Each line has a status: ok, warn, fail, or none if this
system does not have the feature. The exit code is 1 if a check fails.`,
		Example: `  concerto doctor
  concerto doctor triage --offline
  concerto doctor --format json`,
		Args: console.OnePath(false),
	}
	c.Flags().BoolVar(&offline, "offline", false, "connect to no server")
	format := cmdline.AddFormat(c, "text", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, signals := interrupt.Catch(c.Context())
		defer signals.Stop()
		path, _ := console.Path(c, args)
		d := &doctor{console: a, ctx: ctx, offline: offline || a.Getenv("CONCERTO_OFFLINE") == "1", now: time.Now,
			client: &http.Client{Timeout: contactTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
		if err := d.open(path); err != nil {
			return err
		}
		return d.report(d.check(), format.IsText())
	}
	return c
}

// open reads the manifest of the project at path, or the nearest one.
func (d *doctor) open(path string) error {
	dir := d.console.Dir
	if path != "" {
		dir = d.console.Abs(path)
		info, err := os.Stat(dir)
		if err != nil {
			return console.Usage("check the path, which is relative to the working directory", "%s: no such file or directory", path)
		}
		if !info.IsDir() {
			dir = filepath.Dir(dir)
		}
	}
	isFile := func(p string) bool { info, err := os.Stat(p); return err == nil && !info.IsDir() }
	at, found := manifest.LocateProject(dir, isFile)
	if !found {
		return nil
	}
	text, err := os.ReadFile(at)
	if err != nil {
		return console.Usage("", "read %s: %v", d.console.Relative(at), console.Cause(err))
	}
	d.root = filepath.Dir(at)
	d.manifest, d.found = manifest.Parse(source.NewFile(filepath.ToSlash(d.console.Relative(at)), text))
	if in, err := driver.Load(driver.Request{Path: d.root, Dir: d.console.Dir}); err == nil {
		d.replies = in.Scripts
	}
	return nil
}

// check makes all checks at the same time, and returns their results in order.
func (d *doctor) check() (all []result) {
	results := make([][]result, len(checks))
	var wg sync.WaitGroup
	last := len(checks) - 1
	usable := d.manifest != nil && !d.found.HasErrors() // what a manifest with errors names is not known
	for i, c := range checks {
		if i == last || c.needsProject && !usable {
			continue
		}
		wg.Go(func() { results[i] = c.run(d) })
	}
	wg.Wait()
	if usable { // the clock compares the answers of the servers
		results[last] = checks[last].run(d)
	}
	for _, r := range results {
		all = append(all, r...)
	}
	return all
}

// report prints the results. It returns an error if a check has failed.
func (d *doctor) report(all []result, isText bool) error {
	failed := false
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, r := range all {
		r.Detail = shown(r.Detail)
		failed = failed || r.Status == fail
		if !isText {
			if err := e.Encode(r); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(&b, "%-4s  %-11s  %s\n", r.Status, r.Name, r.Detail)
		if r.Do != "" {
			fmt.Fprintf(&b, "      %s\n", shown(r.Do))
		}
	}
	if _, err := d.console.Stdout.Write([]byte(b.String())); err != nil {
		return err
	}
	if failed {
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

// shown returns a text in one line that cannot change the terminal.
func shown(text string) string {
	text = strings.Join(strings.Fields(terminal.Escape(text)), " ")
	return utf8cut.Short(text, maxDetail)
}
