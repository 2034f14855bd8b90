package concerto_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto"
)

// Run a program and receive its emits.
func ExampleProgram_Run() {
	p, err := concerto.LoadSource("greet.conc", `
		use std::env;

		fn main() -> Int {
			for name in env::args() {
				emit("greeting", "hello, ${name}");
			}
			env::args().len()
		}`)
	if err != nil {
		log.Fatal(err)
	}
	result, err := p.Run(context.Background(), concerto.Options{
		Args:   []string{"Ada", "Grace"},
		OnEmit: func(e concerto.Emit) { fmt.Printf("%s: %s\n", e.Channel, e.Payload) },
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("returned %s\n", result.Value)
	// Output:
	// greeting: "hello, Ada"
	// greeting: "hello, Grace"
	// returned 2
}

// Answer the awaited emits of a program.
func ExampleProgram_Run_answer() {
	p, err := concerto.LoadSource("deploy.conc", `
		fn main() {
			for target in ["staging", "production"] {
				match await emit<Bool>("approve", target) {
					Ok(yes) => println("${target}: ${yes}"),
					Err(e) => println("${target}: ${e.message}"),
				}
			}
		}`)
	if err != nil {
		log.Fatal(err)
	}
	_, err = p.Run(context.Background(), concerto.Options{
		Output: os.Stdout,
		AnswerEmit: func(_ context.Context, e concerto.Emit) (any, error) {
			if string(e.Payload) == `"production"` {
				return nil, errors.New("production is frozen")
			}
			return true, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// staging: true
	// production: production is frozen
}

// Give a program a Go function as a tool. Its agents can call it, too.
func ExampleNewTool() {
	type order struct {
		Item  string `json:"item" doc:"what to order"`
		Count int    `json:"count" min:"1"`
	}
	type receipt struct {
		Total int `json:"total"`
	}
	var tools concerto.Tools
	err := tools.Add(concerto.NewTool("order", "Order from the shop", func(ctx context.Context, o order) (receipt, error) {
		if o.Item != "chair" {
			return receipt{}, fmt.Errorf("there is no %s", o.Item)
		}
		fmt.Printf("%s orders %d\n", concerto.ToolCallFrom(ctx).Caller, o.Count)
		return receipt{Total: 40 * o.Count}, nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	p, err := concerto.LoadSource("shop.conc", `
		fn main() {
			println(dispatch_tool("order", { item: "chair", count: 2 }));
			try { dispatch_tool("order", { item: "table", count: 1 }); } catch ToolError(e) { println(e.message); }
		}`)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := p.Run(context.Background(), concerto.Options{Tools: &tools, Output: os.Stdout}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// main orders 2
	// {"total":80}
	// there is no table
}

// Store a run that waits for an answer, and resume it.
func ExampleStoredRun_Resume() {
	p, err := concerto.LoadSource("plan.conc", `
		fn main() {
			println("planning");
			let ok = await emit<Bool>("approve", "the plan")?;
			println("approved: ${ok}");
		}`)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "runs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	_, err = p.Run(context.Background(), concerto.Options{
		Output:  os.Stdout,
		Durable: &concerto.Durable{Dir: filepath.Join(dir, "plan"), SuspendOnQuestion: true},
	})
	fmt.Println("suspended:", errors.Is(err, concerto.ErrSuspended))

	// another process, a day later
	runs, err := concerto.ListRuns(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range runs {
		for _, q := range run.Questions {
			fmt.Printf("%s asks %s: %s (%s)\n", run.State, q.Channel, q.Payload, q.Type)
			if err := run.Answer(q.ID, true); err != nil {
				log.Fatal(err)
			}
		}
		if _, err := run.Resume(context.Background(), concerto.Options{Output: os.Stdout}); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// planning
	// [approve] the plan
	// suspended: true
	// waiting asks approve: "the plan" (Bool)
	// approved: true
}

// Test a program without a model: a script has the replies, and the test sees the requests.
func ExampleScriptedModel() {
	p, err := concerto.LoadSource("judge.conc", `
		struct Verdict { spam: Bool, reason: String }

		agent Judge uses scripted { system_prompt: "You find spam." }

		fn main() {
			let v = Judge.execute_with_schema<Verdict>("Buy now!")?;
			println("${v.spam}: ${v.reason}");
		}`)
	if err != nil {
		log.Fatal(err)
	}
	script := concerto.ScriptedModel(concerto.ModelReply{Text: `{"spam": true, "reason": "it sells"}`})
	result, err := p.Run(context.Background(), concerto.Options{
		Output: os.Stdout,
		Model: func(ctx context.Context, r concerto.ModelRequest) (concerto.ModelReply, error) {
			fmt.Printf("%s is asked: %s\n", r.Agent, r.Messages[len(r.Messages)-1].Text)
			return script(ctx, r)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Usage.Calls, "call")
	// Output:
	// Judge is asked: Buy now!
	// true: it sells
	// 1 call
}

// Compile a program once, and load it without its sources.
func ExampleLoadIR() {
	p, err := concerto.LoadSource("hello.conc", `fn main() { println("hello"); }`)
	if err != nil {
		log.Fatal(err)
	}
	compiled := p.IR() // the content of the file that `concerto build` writes

	loaded, err := concerto.LoadIR(compiled)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := loaded.Run(context.Background(), concerto.Options{Output: os.Stdout}); err != nil {
		log.Fatal(err)
	}
	_, err = concerto.LoadIR([]byte(strings.ToUpper(string(compiled))))
	fmt.Println(errors.Is(err, concerto.ErrInvalidIR))
	// Output:
	// hello
	// true
}
