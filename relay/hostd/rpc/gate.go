package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/workdirfs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// work is an operation that waits for an approval. do performs the operation, and the other fields
// describe it in the request. All except args are redacted.
type work struct {
	tool, risk, prompt, summary string
	args                        json.RawMessage // the arguments that the request shows
	diff                        string
	do                          func(ctx context.Context) (any, error)
}

// Limits on the content of a request.
const (
	maxPreview = 2000 // maximum number of characters of the content to write
	maxSummary = 80   // maximum number of characters of a summary
)

// gated returns a handler for an operation that requires an approval. The handler commits the call
// as an event and submits a request. It performs the operation if the request is approved and the
// operation has not changed since.
func gated(prepare func(context.Context, *Dispatcher, *call, *Run) (*work, error)) func(context.Context, *Dispatcher, *call, *Run) (any, error) {
	return func(ctx context.Context, d *Dispatcher, c *call, run *Run) (any, error) {
		w, err := prepare(ctx, d, c, run)
		if err != nil {
			return nil, err // an invalid operation fails without a request
		}
		began, err := d.commitCall(ctx, c, run, w.args)
		if err != nil {
			return nil, err
		}
		result, err := d.awaitDecision(ctx, c, run, w)
		return result, d.commitResult(ctx, c, run, began, result, err)
	}
}

// awaitDecision waits for the decision on a request. It performs the work if the request is
// approved.
func (d *Dispatcher) awaitDecision(ctx context.Context, c *call, run *Run, w *work) (any, error) {
	hash, err := hashCall(c, run)
	if err != nil {
		return nil, err
	}
	data := protocol.PermissionRequested{RequestID: c.id, Reason: protocol.ReasonPermission, Prompt: w.prompt, OpTool: w.tool, OpArgs: w.args,
		OpArgsSummary: summary(d.o.Redact.RequestText(w.summary)), ArgsSHA256: hash, Risk: w.risk, Diff: protocol.CutDiff(w.diff), From: &protocol.Origin{Kind: "rpc"}}
	d.o.Redact.Request(&data, unredacted...)
	answer, err := d.o.Approvals.Submit(ctx, c.Run, approvals.Request{UsesTimeout: true, Data: data})
	if err != nil {
		return nil, err
	}
	var got approvals.Decision
	select {
	case got = <-answer:
	case <-ctx.Done():
		if err := d.o.Approvals.Withdraw(context.WithoutCancel(ctx), c.Run, c.id, "hostd is stopping"); err != nil {
			d.o.Log.Warn("could not withdraw a request", "run", c.Run, "request", c.id, "error", err)
		}
		return nil, context.Cause(ctx)
	}
	if got.Decision != approvals.Approve {
		code := rejectionCodes[got.Decision]
		return nil, errorf(code, "%s", code)
	}
	return d.performApproved(ctx, c, hash, w)
}

// rejectionCodes maps the outcomes of a request that is not approved to error codes.
var rejectionCodes = map[string]protocol.RPCCode{approvals.Deny: protocol.Denied, approvals.Expired: protocol.RPCCode(protocol.Expired), approvals.Withdrawn: protocol.Withdrawn}

// performApproved performs the work if its hash is still the approved one.
func (d *Dispatcher) performApproved(ctx context.Context, c *call, hash string, w *work) (any, error) {
	run, ok := d.o.Runs.Find(c.Run)
	if !ok || run.Ended {
		return nil, errorf(protocol.RPCCode(protocol.RunHasExited), "run %s has ended", c.Run)
	}
	now, err := hashCall(c, &run)
	if err != nil {
		return nil, err
	}
	if now != hash {
		return nil, errorf(protocol.RPCCode(protocol.ArgsChanged), "the operation has changed since it was approved: request it again")
	}
	return w.do(ctx)
}

// hashCall returns a hash of the operation, its arguments and its directory. A decision is valid
// only for an operation with the same hash.
func hashCall(c *call, run *Run) (string, error) {
	text, err := json.Marshal(struct {
		Op   string          `json:"op"`
		Args json.RawMessage `json:"args"`
		Cwd  string          `json:"cwd"`
	}{c.Type, argsOf(c), run.Cwd})
	if err == nil {
		text, err = jcs.Canonical(text)
	}
	if err != nil {
		return "", fmt.Errorf("hash the operation: %w", err)
	}
	return hexsum.SHA256(text), nil
}

// prepareWrite returns the work that writes a file.
func prepareWrite(ctx context.Context, d *Dispatcher, c *call, run *Run) (*work, error) {
	q, err := decode[protocol.WriteFile](c)
	if err != nil {
		return nil, err
	}
	s, err := workdirfs.Open(run.Cwd)
	if err != nil {
		return nil, errorf(protocol.NotFound, "%v", err)
	}
	defer s.Close()
	old, err := s.Preview(ctx, q)
	if err != nil {
		return nil, err
	}
	preview := firstChars(d.o.Redact.RequestText(q.Content), maxPreview)
	args := mustMarshal(struct {
		Path      string `json:"path"`
		Bytes     int    `json:"bytes"`
		Preview   string `json:"content_preview"`
		Truncated bool   `json:"content_truncated"`
	}{q.Path, len(q.Content), preview, len(firstChars(q.Content, maxPreview)) < len(q.Content)})
	return &work{tool: c.Type, risk: "medium", prompt: "Write " + q.Path, summary: fmt.Sprintf("%s (%d bytes)", q.Path, len(q.Content)),
		args: args, diff: diff(q.Path, old, q.Content), do: func(context.Context) (any, error) {
			s, err := workdirfs.Open(run.Cwd)
			if err != nil {
				return nil, errorf(protocol.NotFound, "%v", err)
			}
			defer s.Close()
			return s.Write(q)
		}}, nil
}

// prepareBash returns the work that runs a command.
func prepareBash(_ context.Context, d *Dispatcher, c *call, run *Run) (*work, error) {
	q, err := decode[protocol.Bash](c)
	if err != nil {
		return nil, err
	}
	path, err := d.findProgram("bash")
	if err != nil {
		return nil, err
	}
	return &work{tool: "bash", risk: "high", prompt: "Run a command", summary: q.Cmd, args: mustMarshal(struct {
		Cmd string `json:"cmd"`
	}{q.Cmd}), do: func(ctx context.Context) (any, error) { return d.runBash(ctx, path, run.Cwd, q) }}, nil
}
