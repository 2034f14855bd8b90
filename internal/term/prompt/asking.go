// Package prompt asks the user the questions of a run: questions and approvals of hosts, and
// awaited emits. It validates the answers and repeats a question after an invalid answer. A
// Terminal displays the question and reads the input.
package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Terminal displays questions and reads answers. It is implemented by *screen.Screen. A caller of
// Ask must first wait for its turn with Turn.
type Terminal interface {
	Join(ctx context.Context) (joined context.Context, leave func())
	Turn(ctx context.Context) (done func(), err error)
	Ask(ctx context.Context, p screen.Prompt) (string, error)
	// View shows rows until the user leaves them.
	View(ctx context.Context, rows []screen.Row) error
	PrintAbove(text string)
}

// Person asks the user at a terminal. It is a prompter for package emit. It is safe for concurrent
// use.
type Person struct {
	Terminal
	// Edits reports whether the user may edit the arguments of a host's request. Some hosts cannot
	// execute a modified request.
	Edits func(host string) bool
	// Read returns the content of a file that a request changes; nil if no file may be read.
	Read func(path string) ([]byte, error)
	Now  func() time.Time
}

// Ask shows an awaited emit and returns the typed answer. prompt may begin with the reason why the
// previous answer was invalid. Ask does not use input that was typed before the prompt appeared.
func (p *Person) Ask(ctx context.Context, prompt string) (string, error) {
	done, err := p.Turn(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	prompt = terminal.Escape(prompt)
	text, label := "", prompt
	if at := strings.LastIndexByte(prompt, '\n'); at >= 0 {
		text, label = prompt[:at], prompt[at+1:]
	}
	typed, err := p.Terminal.Ask(ctx, screen.Prompt{Text: text, Label: label + "> "})
	if err == nil {
		p.PrintAbove(prompt + "> " + typed)
	}
	return typed, err
}

// AskHost asks a host's question and returns the answer in the form that a handler returns.
func (p *Person) AskHost(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error) {
	d := &dialogue{Person: p, host: q.Host, sender: terminal.OneLine(hostmsg.SenderName(q.Host, message)), tool: q.Type == effect.ToolApproval}
	if q.Within > 0 {
		d.until = p.Now().Add(time.Duration(q.Within) * time.Millisecond)
	}
	done, err := p.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if d.tool || hostmsg.Lookup(q.Type).Form == hostmsg.YesNo {
		return d.approval(ctx, message)
	}
	return d.question(ctx, message)
}

// dialogue is the sequence of prompts for one message.
type dialogue struct {
	*Person
	host   string
	sender string // who asks, as it is shown
	tool   bool   // the message is about a tool call, whose arguments can always be edited
	until  time.Time
}

// askPrompt shows a prompt of the dialogue and returns the typed line.
func (d *dialogue) askPrompt(ctx context.Context, p screen.Prompt) (string, error) {
	p.Label, p.Until = p.Label+"> ", d.until
	answer, err := d.Terminal.Ask(ctx, p)
	return strings.TrimSpace(answer), err
}

// mostLeft is the maximum number of characters of a question that remain on the screen with the
// answer.
const mostLeft = 500

// printAnswer prints the first line of a question and the answer above the view.
func (d *dialogue) printAnswer(asked, answer string) {
	asked, _, _ = strings.Cut(asked, "\n")
	d.PrintAbove(fmt.Sprintf("%s > %s", asked, terminal.Escape(answer)))
}
