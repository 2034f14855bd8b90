// Command probe is a host for tests. Its prompt selects the part of the SDK to use.
package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/sdk/go/host"
)

type broken struct{}

func (broken) Error() string { return "no disk" }
func (broken) Code() string  { return "E7" }

func main() {
	host.Serve(work, host.Capabilities("cancel", "tools"), host.Init(func(params host.Value) (any, error) {
		var p struct{ Model string }
		if err := params.Into(&p); err != nil || p.Model == "unknown" {
			return nil, errors.New("there is no such model")
		}
		return map[string]string{"version": "1.2.3"}, nil
	}))
}

func work(t *host.Task) (any, error) {
	what, rest, _ := strings.Cut(t.Text, " ")
	switch what {
	case "ask":
		return ask(t, rest)
	case "decide":
		d, err := t.Approve(host.Approval{Description: "do it", Args: map[string]int{"a": 1}})
		return map[string]any{"allow": d.Allow, "reason": d.Reason, "input": d.Input, "scope": d.Scope}, err
	case "say":
		fmt.Println("printed")
		t.Progress("half", host.Percent(50), host.Stage("s"), host.Usage(3, 2, 1), host.CostUSD(0.5), host.Turns(4))
		t.PlanLimit("5h", "near", host.UsedPercent(81.5), host.ResetsAt(time.Unix(1771390800, 0).UTC()))
		t.Log("warn", "careful")
		t.PartialOf("m", "piece")
		t.Retract("m")
		v, err := t.Call("sum", []int{1, 2})
		return []any{v, "é\u2028"}, err
	case "withdraw":
		return withdraw(t)
	case "refused":
		_, err := t.Ask(host.Question{Text: "anything"})
		var r *host.RefusedError
		if errors.As(err, &r) {
			return map[string]any{"refused": r.Reason, "cancelled": t.Ctx.Err() != nil}, nil
		}
		return nil, err
	case "fail":
		return nil, fmt.Errorf("%w", broken{})
	case "steered":
		_, err := t.Ask(host.Question{Text: "go on?"})
		return map[string]any{"messages": append([]string{}, t.Messages()...), "rest": append([]string{}, t.Messages()...), "queued": t.Queued}, err
	case "panic":
		panic("on purpose")
	case "given":
		var session any
		if t.Session != "" {
			session = t.Session
		}
		return map[string]any{"context": t.Context, "schema": t.Schema, "params": t.Params, "session": session, "tools": t.Tools}, nil
	}
	return "as text: " + t.Text, nil
}

func ask(t *host.Task, times string) (any, error) {
	n, err := strconv.Atoi(times)
	for i := range n {
		question := fmt.Sprintf("question %d", i)
		if v, err := t.Ask(host.Question{Text: question}); err != nil || v.Text() != question {
			return nil, fmt.Errorf("%s has another's answer (%v)", question, err)
		}
	}
	return map[string]int{"answered": n}, err
}

func withdraw(t *host.Task) (any, error) {
	taken := make(chan error)
	go func() {
		_, err := t.Ask(host.Question{Text: "taken back", Options: []string{"a"}, Questions: []host.SubQuestion{{ID: "b", Text: "b", Options: []host.Choice{{Label: "c"}}}},
			Schema: map[string]string{"type": "string"}, ID: "w"})
		taken <- err
	}()
	if _, err := t.Ask(host.Question{Text: "go on?"}); err != nil {
		return nil, err
	}
	t.Withdraw("w")
	return (<-taken).Error(), nil
}
