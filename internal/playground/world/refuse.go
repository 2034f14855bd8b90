package world

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// The resources that a page does not have. Each is an ordinary error of the program.
const (
	noCommands = "commands are not available in the playground"
	noServers  = "MCP servers are not available in the playground"
	noNetwork  = "the network is not available in the playground"
	noGit      = "git is not available in the playground"
)

// refuse returns the performer of an area that a page does not have. notice receives the message
// when a request is refused.
func refuse(notice func(string), fail func(effect.Request) *effect.Error) effect.Performer {
	return effect.PerformerFunc(func(_ context.Context, r effect.Request) (effect.Result, error) {
		err := fail(r)
		notice(err.Message)
		return nil, err
	})
}

// noCommand returns the error of a command.
func noCommand(effect.Request) *effect.Error {
	return effect.Errorf("ToolError", "%s", noCommands).With("tool", "RunCommand")
}

// noServer returns the error of a call of an MCP server.
func noServer(r effect.Request) *effect.Error {
	e := effect.Errorf("ToolError", "%s", noServers)
	if q, ok := r.(*effect.MCPOpen); ok {
		e.With("tool", q.Server+"."+q.Function())
	}
	return e
}

// noRequest returns the error of an HTTP request.
func noRequest(r effect.Request) *effect.Error {
	e := effect.Errorf("HttpError", "%s", noNetwork)
	if q, ok := r.(*effect.HTTP); ok {
		e.With("url", q.URL)
	}
	return e
}

// noWorkspace returns the error of a workspace or a merge.
func noWorkspace(effect.Request) *effect.Error {
	return effect.Errorf("GitError", "%s", noGit).With("code", "other")
}
