package testmcp

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type killArgs struct {
	Path string `json:"path" jsonschema:"a file that counts the calls"`
}

// addKillers adds the tools kill, kill_reading and kill_again. The latter two declare that they may
// be called twice. The first call of each tool kills the server's parent process, and a later call
// returns the keys of all calls. A server offers these tools if TESTMCP_KILLS is set.
func addKillers(s *mcp.Server) {
	for name, hints := range map[string]*mcp.ToolAnnotations{"kill": nil, "kill_reading": {ReadOnlyHint: true}, "kill_again": {IdempotentHint: true}} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Annotations: hints}, func(ctx context.Context, r *mcp.CallToolRequest, a killArgs) (*mcp.CallToolResult, any, error) {
			before, err := os.ReadFile(a.Path)
			first := os.IsNotExist(err)
			all := fmt.Sprintf("%s%v;", before, r.Params.Meta["idempotency_key"])
			if err := os.WriteFile(a.Path, []byte(all), 0o600); err != nil {
				return nil, nil, err
			}
			if first {
				parent, err := os.FindProcess(os.Getppid())
				if err == nil {
					err = parent.Kill()
				}
				if err != nil {
					return nil, nil, err
				}
				<-ctx.Done()
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: all}}}, nil, nil
		})
	}
}
