package engine

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/workspace"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Ask is a resource outside the run that a program may use. Name is the resource's name in the
// permission flag of its Kind; "" means every resource of that kind. Detail describes how the
// program uses the resource.
type Ask struct {
	Kind   permit.Kind
	Name   string
	Detail string
}

// Asks returns the commands, hosts, files and network hosts that the program may use, sorted by
// kind and without duplicates. The list comes from the program's code and declarations, which
// mention everything that a program can use.
func (p *Program) Asks() []Ask {
	a := &asking{ir: p.ir, performs: performed(p.ir)}
	a.hosts()
	a.servers()
	a.addTools()
	a.models()
	a.stores()
	a.workspaces()
	a.effects()
	slices.SortStableFunc(a.list, func(x, y Ask) int { return int(x.Kind) - int(y.Kind) })
	return a.list
}

// performed returns the kinds of effects that a program's code contains.
func performed(p *ir.Program) map[effect.Kind]bool {
	out := map[effect.Kind]bool{}
	look := func(code []ir.Instr) {
		for _, in := range code {
			if in.Op == ir.OpPerform && in.Imm >= 0 && int(in.Imm) < len(p.Constants) {
				if s := p.Constants[in.Imm].String; s != nil {
					out[effect.Kind(*s)] = true
				}
			}
		}
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		look(f.Code)
		for _, l := range f.Listens {
			for _, h := range l.Handlers {
				look(h.Code)
			}
		}
	}
	return out
}

// asking collects the resources that a program may use.
type asking struct {
	ir       *ir.Program
	performs map[effect.Kind]bool
	list     []Ask
}

func (a *asking) addRequirement(x Ask) {
	if !slices.ContainsFunc(a.list, func(y Ask) bool { return x.Kind == y.Kind && (x.Name == y.Name || y.Name == "") }) {
		a.list = append(a.list, x)
	}
}

func (a *asking) hosts() {
	for i := range a.ir.Hosts {
		x := &a.ir.Hosts[i]
		h, err := host.ParseConfig(x.Name, x.Connector, x.Params, x.Config, "")
		if err != nil {
			continue // the program cannot use the host either
		}
		a.addRequirement(Ask{permit.Host, h.Name, commandText(h.Command, h.Args)})
	}
}

// commandText returns a command line for display, without quoting.
func commandText(command string, args []string) string {
	return strings.Join(append([]string{command}, args...), " ")
}

func (a *asking) servers() {
	for _, t := range a.ir.Tools {
		if t.Server != "" {
			a.server(t.Server)
		}
	}
}

// server adds the command or the network host of the MCP server with a name.
func (a *asking) server(name string) {
	for i := range a.ir.Servers {
		x := &a.ir.Servers[i]
		s, err := mcpport.ParseConfig(x.Name, x.Config, "")
		if err != nil || s.Name != name {
			continue
		}
		if s.Transport == "http" {
			a.addRequirement(Ask{permit.Net, hostname(s.URL), "the MCP server " + s.Name})
		} else {
			a.addRequirement(Ask{permit.Run, s.Command, "the MCP server " + s.Name + ": " + commandText(s.Command, s.Args)})
		}
	}
}

// addTools adds the resources of the tools in the manifest.
func (a *asking) addTools() {
	for _, x := range a.ir.AppTools {
		var form toolForm
		if json.Unmarshal(x.Config, &form) != nil {
			continue // the program cannot use the tool either
		}
		what := "the tool " + x.Name
		switch {
		case form.Command != nil && len(form.Command.Run) > 0:
			a.addRequirement(Ask{permit.Run, form.Command.Run[0], what + ": " + commandText(form.Command.Run[0], form.Command.Run[1:])})
		case form.HTTP != nil:
			a.addRequirement(Ask{permit.Net, hostname(form.HTTP.URL), what})
		case form.MCP != nil:
			a.server(form.MCP.Server)
		case form.Concerto != nil:
			a.addRequirement(Ask{permit.Run, form.Concerto.File, what + ": " + form.Concerto.Function + " of another program"})
		}
	}
}

func hostname(address string) string {
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return address
}

// models adds the network hosts of the connections that agents use, directly or as fallbacks.
func (a *asking) models() {
	var next []string
	for i := range a.ir.Agents {
		next = append(next, a.ir.Agents[i].Connection)
	}
	for seen := map[string]bool{}; len(next) > 0; next = next[1:] {
		i := slices.IndexFunc(a.ir.Connections, func(c ir.Connection) bool { return c.Name == next[0] })
		if i < 0 || seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		c, err := llm.ParseConnection(next[0], json.RawMessage(a.ir.Connections[i].Config))
		if err != nil {
			continue // the program cannot use the connection either
		}
		next = append(next, c.Fallback...)
		if at := c.Address(); at != "" {
			detail := "the models of connection " + c.Name
			if keys := c.KeyVariables(); keys != nil {
				detail += ", with the key in " + strings.Join(keys, ", ")
			}
			a.addRequirement(Ask{permit.Net, hostname(at), detail})
		}
	}
}

func (a *asking) stores() {
	for i := range a.ir.Stores {
		if s := &a.ir.Stores[i]; s.File != "" {
			a.addRequirement(Ask{permit.Read, s.File, "the " + s.Kind + " " + s.Name})
			a.addRequirement(Ask{permit.Write, s.File, "the " + s.Kind + " " + s.Name})
		}
	}
	if a.ir.Audit != "" {
		a.addRequirement(Ask{permit.Write, a.ir.Audit, "the audit log"})
	}
	if slices.ContainsFunc(a.ir.Natives, func(n string) bool { return n == "cache.read" || n == "cache.write" || n == "cache.sweep" }) {
		a.addAll(permit.Read, "caches in files")
		a.addAll(permit.Write, "caches in files")
	}
}

// sources maps each permission whose targets are known only at run time to the part of the library
// that requires it.
var sources = map[permit.Kind]string{permit.Read: "std::fs", permit.Write: "std::fs", permit.Net: "std::http", permit.Run: "std::tools::RunCommand"}

// declared lists the kinds of effects whose targets are known from the program's declarations.
var declared = []effect.Kind{effect.KindAgentCall, effect.KindStreamOpen, effect.KindMCPOpen,
	effect.KindWorkOpen, effect.KindWorkList, effect.KindWorkDiff, effect.KindWorkCommit, effect.KindWorkRemove,
	effect.KindMergeSubmit, effect.KindMergeList, effect.KindMergeOpen}

// workspaces adds the commands that workspaces and merges start.
func (a *asking) workspaces() {
	uses := map[effect.Area]bool{}
	for k := range a.performs {
		if row := effect.Lookup(k); row != nil {
			uses[row.By] = true
		}
	}
	if !uses[effect.Workspaces] && !uses[effect.Merges] {
		return
	}
	config, merges, err := workspacesOf(a.ir)
	if err != nil {
		return // the program cannot use workspaces either
	}
	if config == nil {
		config = &workspace.Config{}
	}
	add := func(commands [][]string, what string) {
		for _, command := range commands {
			a.addRequirement(Ask{permit.Run, command[0], what + ": " + commandText(command[0], command[1:])})
		}
	}
	add(config.Commands(), "workspaces")
	if a.performs[effect.KindMergeOpen] {
		add(config.Gate, "the gate of merges")
		for _, name := range slices.Sorted(maps.Keys(merges.Queues)) {
			add(merges.Commands(name, "", true), "the merge queue "+name)
		}
	}
}

// effects adds the resources that the program's code may use within [permissions].
func (a *asking) effects() {
	for _, k := range slices.Sorted(maps.Keys(a.performs)) {
		if slices.Contains(declared, k) {
			continue
		}
		for _, kind := range permit.Needs(k) {
			if why, ok := sources[kind]; ok {
				if k == effect.KindWorkRun {
					why = "std::work"
				}
				a.addAll(kind, why)
			}
		}
	}
}

// addAll adds all resources of a kind that [permissions] grants. If [permissions] does not restrict
// the kind, it adds every resource of the kind.
func (a *asking) addAll(k permit.Kind, why string) {
	granted := a.ir.Permissions
	if granted == nil || slices.Contains(granted.Open, permit.Kinds[k].Key) {
		if k != permit.Run { // running commands is then not granted
			a.addRequirement(Ask{k, "", why})
		}
		return
	}
	for _, name := range map[permit.Kind][]string{permit.Read: granted.FS, permit.Write: granted.FS, permit.Net: granted.Net, permit.Run: granted.Run}[k] {
		a.addRequirement(Ask{k, name, why})
	}
}
