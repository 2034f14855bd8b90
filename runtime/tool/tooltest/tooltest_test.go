package tooltest

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/concerto-lang/concerto/runtime/tool"
)

func TestMain(m *testing.M) {
	if !Play() {
		os.Exit(m.Run())
	}
}

func TestGo(t *testing.T) { Run(t, Go()) }

func TestCommands(t *testing.T) {
	for _, answer := range []string{tool.AnswerJSON, tool.AnswerText, tool.AnswerLines} {
		Run(t, Command(answer))
	}
}

func TestHTTP(t *testing.T) { Run(t, HTTP()) }

// inner is a session whose calls are made by a tool instead of the application.
type inner struct{ goSession }

func (i inner) Call(ctx context.Context, name string, args json.RawMessage) Got {
	text, err := json.Marshal(map[string]any{"tool": name, "args": args})
	if err != nil {
		panic(err)
	}
	var e tool.Ended
	calls := tool.Definition{Name: "caller", Handler: func(_ context.Context, _ json.RawMessage, c *tool.Context) (tool.Result, error) {
		return c.Call(ctx, name, args), nil
	}}
	if err := i.r.Replace(calls); err != nil {
		panic(err)
	}
	e = i.s.Do(context.Background(), tool.Ask{Name: "caller", Args: text})
	got, failed := e.Result.Text()
	return Got{Text: got, Failed: failed}
}

// TestTool plays the script with calls made by a tool. They have the same steps as calls by the
// application. Only the chain is longer by one, and the notice about changed arguments belongs to
// the calling tool.
func TestTool(t *testing.T) {
	Run(t, Route{Name: "tool", Open: func(t *testing.T, app *App) Session { return inner{Go().Open(t, app).(goSession)} }, Lacks: map[string]string{
		"approval edit":     "a tool gets the result, not the text for a model",
		"composition cycle": "the chain has one name more",
	}})
}
