package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// PlayEnv is the environment variable that makes a test binary act as a tool of the script, if its
// TestMain calls Play. Its value is the answer form of the command.
const PlayEnv = "TOOLTEST_PLAY"

// Play makes the process act as a tool of the script if PlayEnv is set. played reports whether it
// did; the caller must then exit.
func Play() (played bool) {
	switch os.Getenv(PlayEnv) {
	case tool.AnswerJSON:
		r := playOnce()
		if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
			panic(err)
		}
	case tool.AnswerText:
		text, failed := playOnce().Text()
		if failed {
			fmt.Fprint(os.Stderr, text)
			os.Exit(1)
		}
		_, _ = io.WriteString(os.Stdout, text)
	case tool.AnswerLines:
		playLines()
	default:
		return false
	}
	return true
}

// sent is the input that a command or an HTTP request contains.
type sent struct {
	Input   json.RawMessage
	Context tool.CallInfo
}

// do runs a tool of the script.
func do(ctx context.Context, name string, version int, input json.RawMessage, a Around) tool.Result {
	x, ok := Find(name, version)
	if !ok {
		return tool.Failure("the script has no tool %s@%d", name, version)
	}
	r, err := x.Do(ctx, input, a)
	if err != nil {
		return tool.Failure("%v", err)
	}
	return r
}

// playOnce answers the call on standard input.
func playOnce() tool.Result {
	var m sent
	if err := json.NewDecoder(os.Stdin).Decode(&m); err != nil {
		return tool.Failure("%v", err)
	}
	return do(context.Background(), m.Context.Tool, m.Context.Version, m.Input, alone{})
}

// alone is the Around of a tool that has only its input.
type alone struct{}

func (alone) Progress(float64, float64, string) {}

func (alone) Call(context.Context, string, any) tool.Result {
	return tool.Failure("a tool that is called once calls no tool")
}

// Handler returns an HTTP handler that serves the script's tools.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m sent
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := json.Marshal(do(r.Context(), m.Context.Tool, m.Context.Version, m.Input, alone{}))
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(answer)
	})
}
