package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/logs"
)

// toolShare contains the MCP servers and modules that the sessions of tools share.
type toolShare struct {
	run     *procgroup.Run
	modules map[string]*module // by absolute path of the program's file
	remote  []mcpport.Servers
}

func newToolShare(executable string) *toolShare {
	return &toolShare{run: &procgroup.Run{ID: procgroup.NewID(), Executable: executable}, modules: map[string]*module{}}
}

// Close stops the servers and modules.
func (s *toolShare) Close() error {
	var errs []error
	for _, m := range s.modules {
		errs = append(errs, m.endAll())
	}
	for _, r := range s.remote {
		r.Close(context.Background())
	}
	s.run.End()
	return errors.Join(errs...)
}

// servers returns a performer that calls MCP servers. A server is started at its first call.
func (s *toolShare) servers(d *definer, configs []mcpport.Config) effect.Performer {
	parties := runtime.Parties{}
	seen := map[string]bool{}
	for _, c := range configs {
		if !seen[c.Name] {
			seen[c.Name] = true
			parties.Servers = append(parties.Servers, c)
		}
	}
	parties.GuardKeys()
	secrets := &secret.Set{}
	for _, c := range parties.Servers {
		for _, variable := range c.Variables() {
			secrets.AddHeader(variable, procgroup.Getenv(d.around.Environ, variable))
		}
	}
	log := logs.New(writer(d.around.Log), d.around.LogLevel, secrets)
	r := mcpport.New(mcpport.Options{Configs: parties.Servers, Environ: d.around.Environ, Run: s.run, Stderr: log.Host, Log: log.Remark, Secret: secrets.Add})
	s.remote = append(s.remote, r)
	return effect.PerformerFunc(func(ctx context.Context, q effect.Request) (effect.Result, error) {
		out, err := r.Perform(ctx, q)
		if e, ok := out.(*effect.MCPEvent); ok {
			e.Text, e.Data = secrets.Text(e.Text), secrets.JSON(e.Data)
		}
		return out, secrets.Error(err)
	})
}

func writer(to io.Writer) io.Writer {
	if to == nil {
		return io.Discard
	}
	return to
}

// offeredTool is a tool in the list of an MCP server.
type offeredTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// listRemote returns the tools of an MCP server.
func listRemote(ctx context.Context, perform effect.Performer, server string) ([]offeredTool, error) {
	e, err := callRemote(ctx, perform, &effect.MCPOpen{Server: server, Method: effect.MCPListTools}, nil)
	if err != nil {
		return nil, err
	}
	var out []offeredTool
	return out, json.Unmarshal(e.Data, &out)
}

// callRemote calls a tool of an MCP server. It declines questions of the server, because no user
// can answer them.
func callRemote(ctx context.Context, perform effect.Performer, open *effect.MCPOpen, c *tool.Context) (*effect.MCPEvent, error) {
	r, err := perform.Perform(ctx, open)
	if err != nil {
		return nil, err
	}
	id := r.(*effect.MCPOpened).ID
	for {
		r, err := perform.Perform(ctx, &effect.MCPNext{ID: id})
		if err != nil {
			return nil, err
		}
		switch e := r.(*effect.MCPEvent); e.Kind {
		case "result":
			return e, nil
		case "elicitation":
			if _, err := perform.Perform(ctx, &effect.MCPReply{ID: id}); err != nil {
				return nil, err
			}
		case "progress":
			var p struct {
				Progress, Total float64
				Message         string
			}
			if c != nil && json.Unmarshal(e.Data, &p) == nil {
				c.Progress(p.Progress, p.Total, p.Message)
			}
		}
	}
}

// remoteHandler returns a handler that calls a tool of an MCP server. The output is the structured
// content of the result, or its text. A text that is valid JSON is decoded.
func remoteHandler(perform effect.Performer, x *remoteTool) tool.Handler {
	return func(ctx context.Context, input json.RawMessage, c *tool.Context) (tool.Result, error) {
		e, err := callRemote(ctx, perform, &effect.MCPOpen{Server: x.Server, Method: effect.MCPCallTool, Tool: x.Tool, Args: input}, c)
		var failed *effect.Error
		switch {
		case errors.As(err, &failed):
			return tool.Failure("%s", failed.Message), nil
		case err != nil:
			return tool.Result{}, err
		case len(e.Data) > 0 && string(e.Data) != "null":
			return tool.Result{Success: true, Output: e.Data}, nil
		case json.Valid([]byte(e.Text)):
			return tool.Result{Success: true, Output: json.RawMessage(e.Text)}, nil
		}
		return tool.Success(e.Text)
	}
}

// nearest returns the name of the server that is most similar to name.
func nearest(name string, servers []mcpport.Config) string {
	var names []string
	for _, c := range servers {
		names = append(names, c.Name)
	}
	return suggest.Nearest(name, names)
}
