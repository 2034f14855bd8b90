package project

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// NewModels returns the command models.
func NewModels(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:     "models COMMAND",
		Short:   "List the models of a program and what is known about them",
		Example: `  concerto models list`,
		Args:    console.UnknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return console.Usage("`concerto models --help` lists the commands", "models requires a command")
		},
	}
	c.AddCommand(newModelsList(a))
	return c
}

// modelsCommand is the command models list with its options.
type modelsCommand struct {
	console *console.Console
	format  *cmdline.Format
}

func newModelsList(a *console.Console) *cobra.Command {
	cmd := modelsCommand{console: a}
	c := &cobra.Command{
		Use:   "list [PATH | -]",
		Short: "List the models of a program",
		Long: `Prints the model of each agent and of the fallbacks of its connection: the API that is used, the
parameters and forms that the model accepts, its price, how the provider's cache is used, and the
problems that 'concerto check' reports. No request is sent. The table of models is built in;
[connections.X.models] in Concerto.toml replaces its settings.

Exit codes: 0 no errors, 2 the program has errors.`,
		Example: `  concerto models list
  concerto models list triage.conc --format json`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			path, _ := console.Path(c, args)
			return cmd.list(path)
		},
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	return c
}

// listedModel is the model of an agent as the command prints it.
type listedModel struct {
	Agent      string           `json:"agent"`
	Place      string           `json:"place"` // file and line of the agent
	Connection string           `json:"connection"`
	Provider   string           `json:"provider"`
	Model      string           `json:"model"`
	API        string           `json:"api,omitempty"` // of providers with two APIs
	Pattern    string           `json:"pattern,omitempty"`
	Date       string           `json:"date,omitempty"`
	Source     []string         `json:"source"`
	Settings   *models.Settings `json:"settings"` // null if nothing is known
	Price      *models.Price    `json:"price"`    // null if it is unknown
	Cache      string           `json:"cache,omitempty"`
	CacheMin   int64            `json:"cache_min,omitempty"` // in tokens
	Problems   []string         `json:"problems"`
}

func (cmd *modelsCommand) list(path string) error {
	s, err := program.Source(cmd.console, path, nil)
	if err != nil {
		return err
	}
	in, err := driver.Load(s)
	if err != nil {
		return console.SourceError(err)
	}
	checked, found := driver.CheckProgram(in, nil)
	list := []listedModel{}
	for _, u := range in.ModelUses(checked) {
		list = append(list, describeModel(in, &u, found))
	}
	if !cmd.format.IsText() {
		err = cmd.console.WriteJSON(list)
	} else {
		err = writeModels(cmd.console.Stdout, list)
	}
	if err != nil {
		return err
	}
	return cmd.console.ShowDiagnostics(found)
}

// describeModel returns the use of a model as the command prints it. found are the diagnostics of
// the program.
func describeModel(in *driver.Input, u *driver.ModelUse, found diag.List) listedModel {
	c, file := u.Section, u.Agent.Info.File.Source
	m := listedModel{Agent: u.Agent.Name, Place: fmt.Sprintf("%s:%d", file.Name, file.Position(u.Agent.Decl.Name.Sp.Start).Line),
		Connection: c.Name, Provider: c.Provider, Model: u.Model, API: c.Endpoint().Uses(), Source: []string{}, Problems: []string{}}
	if p := u.Price(time.Now()); p != nil {
		shown := *p
		shown.Source, m.Price = models.SourcesOf(p.Source), &shown
	}
	if row := u.Row(); row != nil {
		m.Pattern, m.Date, m.Source, m.Settings = row.Pattern, row.Date, models.SourcesOf(row.Source), &row.Settings
		m.Cache, m.CacheMin = row.Cache, row.CacheMin
	}
	for _, r := range u.Refusals() {
		m.Problems = append(m.Problems, u.Model+" "+r.How)
	}
	for _, d := range found.Sorted() {
		if d.Info == diag.OnlyChat && d.File == file && u.Agent.Decl.Sp.Start <= d.Span.Start && d.Span.End <= u.Agent.Decl.Sp.End {
			m.Problems = append(m.Problems, d.Message)
		}
	}
	if limit := in.CostLimit(); limit != "" && m.Price == nil {
		m.Problems = append(m.Problems, "its price is unknown, but [limits] "+limit+" requires it")
	}
	return m
}

// writeModels writes models for people.
func writeModels(w io.Writer, list []listedModel) error {
	var b strings.Builder
	for i, m := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)\n", m.Agent, m.Place)
		line := func(name, text string) {
			if text != "" {
				fmt.Fprintf(&b, "  %-10s  %s\n", name, text)
			}
		}
		line("model", fmt.Sprintf("%s, connection %s (%s)", m.Model, m.Connection, m.Provider))
		line("api", m.API)
		if m.Settings == nil {
			line("known", "nothing: the request contains what the agent sets")
		} else {
			line("known as", strings.TrimSuffix(m.Pattern+", collected on "+m.Date, ", collected on "))
			for _, s := range settingLines(m.Settings) {
				line(s.name, s.text)
			}
		}
		for i, text := range priceLines(m.Price) {
			line([]string{"price", ""}[i], text)
		}
		if m.Cache != "" {
			line("cache", strings.TrimSuffix(fmt.Sprintf("%s, from %d tokens on", m.Cache, m.CacheMin), ", from 0 tokens on"))
		}
		for _, p := range m.Problems {
			line("problem", p)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// setting is a line of a model's settings.
type setting struct{ name, text string }

// settingLines returns what a model accepts, for people.
func settingLines(s *models.Settings) []setting {
	var efforts []string
	for _, e := range s.Effort {
		if e.Budget >= 0 {
			e.Name = fmt.Sprintf("%s (%d tokens)", e.Name, e.Budget)
		}
		efforts = append(efforts, e.Name)
	}
	if s.Effort != nil && len(efforts) == 0 {
		efforts = []string{"none accepted"}
	}
	var sizes []string
	for _, x := range []struct {
		name string
		n    int64
	}{{"output", s.MaxOutput}, {"output by default", s.DefaultOutput}, {"context", s.Context}} {
		if x.n > 0 {
			sizes = append(sizes, fmt.Sprintf("%s %d", x.name, x.n))
		}
	}
	schema := strings.Join(s.Schema, ", then ")
	if with := strings.Join(s.SchemaTools, ", then "); with != schema {
		schema += "; with tools: " + with
	}
	return []setting{
		{"parameters", strings.TrimPrefix(parameterText("temperature", s.Temperature)+parameterText("top_p", s.TopP)+parameterText("tools of chat completions", s.ChatTools), ", ")},
		{"thinking", s.Thinking}, {"effort", strings.Join(efforts, ", ")}, {"schema", schema}, {"tokens", strings.Join(sizes, ", ")},
	}
}

// parameterText returns how a model treats a parameter, for people; "" if it accepts it.
func parameterText(name, how string) string {
	return map[string]string{models.Refuse: ", refuses " + name, models.EffortNone: ", accepts " + name + " only without reasoning", models.Drop: ", " + name + " is not sent"}[how]
}

// priceLines returns a price for people, in at most two lines.
func priceLines(p *models.Price) []string {
	if p == nil {
		return []string{"unknown"}
	}
	lines := []string{ratesText(&p.Rates) + " for a million tokens"}
	if p.Above != nil {
		lines = append(lines, fmt.Sprintf("above %d tokens: %s", p.Above.Tokens, ratesText(&p.Above.Rates)))
	}
	return lines
}

func ratesText(r *models.Rates) string {
	text := fmt.Sprintf("$%.6g in, $%.6g out", r.Input, r.Output)
	if r.CacheRead != nil {
		text += fmt.Sprintf(", $%.6g cached", *r.CacheRead)
	}
	if r.CacheWrite != nil && *r.CacheWrite != r.Input {
		text += fmt.Sprintf(", $%.6g written to the cache", *r.CacheWrite)
	}
	return text
}
