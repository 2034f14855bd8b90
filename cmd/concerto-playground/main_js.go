// Command concerto-playground is the program of the playground's workers. A worker starts it with
// the directory of the page's files as its argument, and calls the functions of the object
// `concerto` that it defines. Arguments and results are JSON texts.
package main

import (
	"context"
	"encoding/json"
	"os"
	"syscall/js"

	"github.com/concerto-lang/concerto/internal/playground/session"
	"github.com/concerto-lang/concerto/internal/playground/workbench"
)

func main() {
	dir := os.Args[1]
	bench := workbench.New(dir)
	var run *session.Session
	functions := map[string]func(text string) (any, error){
		"put": func(text string) (any, error) {
			var files map[string]string
			if err := json.Unmarshal([]byte(text), &files); err != nil {
				return nil, err
			}
			return nil, bench.Put(files)
		},
		"change": with(func(q fileRequest) (any, error) {
			err := bench.Change(q.Name, q.Text)
			return bench.Diagnostics(), err
		}),
		"diagnostics": func(string) (any, error) {
			return bench.Diagnostics(), nil
		},
		"check":    with(func(q fileRequest) (any, error) { return bench.Check(q.Name), nil }),
		"complete": with(func(q fileRequest) (any, error) { return bench.Complete(q.Name, q.Offset), nil }),
		"hover":    with(func(q fileRequest) (any, error) { return bench.Hover(q.Name, q.Offset), nil }),
		"graph":    with(func(q fileRequest) (any, error) { return bench.Graph(q.Name) }),
		"ir":       with(func(q fileRequest) (any, error) { return bench.IR(q.Name) }),
		"warm": with(func(n int) (any, error) {
			bench.Warm(n)
			return nil, nil
		}),
		"secret": func(string) (any, error) { return bench.HasSecret(), nil },
		"format": with(func(q fileRequest) (any, error) {
			text, ok := bench.Format(q.Name)
			if !ok {
				return nil, nil
			}
			return text, nil
		}),
		"run": with(func(q session.Request) (any, error) {
			q.Dir = dir
			run = session.New(send)
			go run.Run(context.Background(), q)
			return nil, nil
		}),
		"answer": with(func(q answer) (any, error) {
			run.Answer(q.Number, q.Value)
			return nil, nil
		}),
		"host": with(func(q hostMessage) (any, error) { return nil, run.HostSend(q.Host, q.Proc, q.Line) }),
		"step": with(func(toEnd bool) (any, error) {
			run.Step(toEnd)
			return nil, nil
		}),
	}
	object := js.Global().Get("Object").New()
	for name, f := range functions {
		object.Set(name, js.FuncOf(func(_ js.Value, args []js.Value) any { return reply(f(args[0].String())) }))
	}
	js.Global().Set("concerto", object)
	js.Global().Call("concertoReady")
	select {}
}

// fileRequest is a query about a file.
type fileRequest struct {
	Name   string `json:"name"`
	Text   string `json:"text"`
	Offset int    `json:"offset"`
}

// answer is an answer to the question with a number.
type answer struct {
	Number int    `json:"number"`
	Value  string `json:"value"`
}

// hostMessage is a line of a host that the user plays.
type hostMessage struct {
	Host string `json:"host"`
	Proc int    `json:"proc"`
	Line string `json:"line"`
}

// with returns a function that decodes its argument.
func with[T any](f func(T) (any, error)) func(string) (any, error) {
	return func(text string) (any, error) {
		var q T
		if err := json.Unmarshal([]byte(text), &q); err != nil {
			return nil, err
		}
		return f(q)
	}
}

// reply encodes the result of a function as {"value": …} or {"error": TEXT}.
func reply(v any, err error) string {
	out := map[string]any{"value": v}
	if err != nil {
		out = map[string]any{"error": err.Error()}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return `{"error":"the result cannot be encoded"}`
	}
	return string(text)
}

// send passes an event of the run to the worker.
func send(e session.Event) {
	text, err := json.Marshal(e)
	if err != nil {
		return // events consist of data that was decoded from JSON, and of texts
	}
	js.Global().Call("concertoEvent", string(text))
}
