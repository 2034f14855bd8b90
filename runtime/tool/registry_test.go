package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// echo returns a tool whose output is its input.
func echo(name string) Definition {
	return Definition{Name: name, Description: "Returns its input", Handler: func(_ context.Context, input json.RawMessage, _ *Context) (Result, error) {
		return Result{Success: true, Output: input}, nil
	}}
}

func registered(t *testing.T, ds ...Definition) *Registry {
	t.Helper()
	r := &Registry{}
	if err := r.Register(ds...); err != nil {
		t.Fatal(err)
	}
	return r
}

func opened(t *testing.T, r *Registry, c Context, h Hooks) *Session {
	t.Helper()
	s, err := r.OpenWith(context.Background(), c, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ids returns the names and versions in a list, like "x@1 y@2".
func ids(list []*Definition) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s@%d", d.Name, d.Version))
	}
	return strings.Join(out, " ")
}

func version(name string, n int) Definition {
	d := echo(name)
	d.Version = n
	return d
}

func TestRegisterTool(t *testing.T) {
	r := registered(t, echo("test_tool"))
	d, ok := r.Get("test_tool")
	if !ok || d.Name != "test_tool" || d.Version != 1 || string(d.Parameters) != `{"type":"object"}` || d.Timeout != time.Minute {
		t.Errorf("Get = %+v, %v; want version 1 with default values", d, ok)
	}
}

func TestDuplicateRegistrationFails(t *testing.T) {
	r := registered(t, echo("x"))
	err := r.As("client:c_1").Register(echo("y"), echo("x"), echo("y"))
	var duplicate *DuplicateError
	if !errors.Is(err, ErrDuplicate) || !errors.As(err, &duplicate) || !slices.Equal(duplicate.Tools, []Owned{{"x@1", "go"}, {"y@1", "client:c_1"}}) {
		t.Fatalf("error = %v, want duplicates x@1 of go and y@1 of client:c_1", err)
	}
	if err.Error() != "tool 'x@1' is registered already, by go; tool 'y@1' is registered already, by client:c_1" {
		t.Error(err)
	}
	if got := ids(r.List()); got != "x@1" {
		t.Errorf("registered tools = %s, want x@1 only", got)
	}
}

func TestCreateSessionTools(t *testing.T) {
	r := registered(t, echo("test_tool"))
	s := opened(t, r, Context{SessionID: "test", Cwd: "/tmp"}, Hooks{})
	tools := s.Tools()
	if len(tools) != 1 || tools[0].Name() != "test_tool" || tools[0].Description() != "Returns its input" ||
		string(tools[0].InputSchema()) != string(tools[0].Parameters()) {
		t.Fatalf("tools = %+v, want test_tool with its description and schema", tools)
	}
	if got := tools[0].Execute(context.Background(), json.RawMessage(`{"a":1}`)); !got.Success || string(got.Output) != `{"a":1}` {
		t.Errorf("result = %+v, want the input as output", got)
	}
}

// TestList checks that the zero registry is empty and that lists are sorted by name and version.
func TestList(t *testing.T) {
	r := &Registry{}
	if len(r.List()) != 0 || r.Unregister("x") {
		t.Error("the zero registry contains tools")
	}
	b := version("b", 1)
	b.Category = "db"
	for _, d := range []Definition{version("b", 10), b, version("a", 2), version("b", 2), version("B", 1)} {
		if err := r.Register(d); err != nil {
			t.Fatal(err)
		}
	}
	only, err := Only("a", "b@2", "category:db")
	if err != nil {
		t.Fatal(err)
	}
	for want, filters := range map[string][]Filter{
		"B@1 a@2 b@1 b@2 b@10": nil, "b@1 b@2 b@10": {Named("b")}, "b@1": {Named("b"), Category("db")}, "a@2 b@1 b@2": {only}, "b@2": {Named("b@2", "x")}, "": {Named("b@x")},
	} {
		if got := ids(r.List(filters...)); got != want {
			t.Errorf("filters %v: tools %s, want %s", filters, got, want)
		}
	}
	for _, w := range []string{"category:", "a b", "x@0", "x@", "@1", ""} {
		if _, err := Only(w); err == nil {
			t.Errorf("Only(%q) returned no error", w)
		}
	}
	if d, ok := r.Get("b"); !ok || d.Version != 10 {
		t.Errorf("Get of b = %+v, want version 10", d)
	}
	for _, name := range []string{"c", "b@3", "b@", "b@01", "b@+1", ""} {
		if _, ok := r.Get(name); ok {
			t.Errorf("Get(%q) found a tool", name)
		}
	}
	if !r.Unregister("b@2") || r.Unregister("b@2") || ids(r.List(Named("b"))) != "b@1 b@10" || !r.Unregister("b") || ids(r.List()) != "B@1 a@2" {
		t.Error(ids(r.List()))
	}
}

// TestDefinitionErrors checks that all errors in an invalid definition are reported with their
// positions.
func TestDefinitionErrors(t *testing.T) {
	for _, c := range []struct {
		change func(*Definition)
		want   string
	}{
		{func(d *Definition) { d.Name = "9" }, "tool '9': /name: must be a letter or _, then letters, digits, _ and -, 64 at most"},
		{func(d *Definition) { d.Name = strings.Repeat("x", 65) }, "/name: must be"},
		{func(d *Definition) { d.Version = -1 }, "tool 'x': /version: must be an integer of 1 or more, not -1"},
		{func(d *Definition) { d.Handler = nil }, "tool 'x': /handler: Handler or Open is required"},
		{func(d *Definition) { d.Open = opens(nil, nil) }, "tool 'x': /handler: only one of Handler and Open is allowed"},
		{func(d *Definition) { d.Handler, d.Open = nil, opens(nil, nil) }, "tool 'x': /scope: must be \"session\" if Open is set"},
		{func(d *Definition) { d.Scope = "all" }, `tool 'x': /scope: must be "global" or "session", not "all"`},
		{func(d *Definition) { d.Timeout = time.Microsecond }, "tool 'x': /timeout: must be 0.001 to 86400 seconds, not 0.000001"},
		{func(d *Definition) { d.IdleTimeout = 25 * time.Hour }, "tool 'x': /idle_timeout: must be 0.001 to 86400 seconds, not 90000"},
		{func(d *Definition) { d.ApprovalTimeout = -1 }, "tool 'x': /approval_timeout: must be"},
		{func(d *Definition) { d.OnTimeout = "ask" }, `tool 'x': /on_timeout: must be "deny", "allow" or "halt", not "ask"`},
		{func(d *Definition) { d.MaxConcurrent = -1 }, "tool 'x': /max_concurrent: must be 1 or more, not -1"},
		{func(d *Definition) { d.Requires = []string{"render:a", "sound"} }, `tool 'x': /requires/1: "sound" is unknown: use "render:TYPE", such as "render:image/png"`},
		{func(d *Definition) { d.Parameters = json.RawMessage(`{"type":"string"}`) }, `tool 'x': /parameters/type: must be "object"`},
		{func(d *Definition) { d.Parameters = json.RawMessage(`{}`) }, `tool 'x': /parameters/type: must be "object"`},
		{func(d *Definition) {
			d.Parameters, d.Output, d.Version = json.RawMessage(`{"type":"object","properties":{"a":{"type":"int"}}}`), json.RawMessage(`{"$ref":"http://a/b"}`), -1
		}, "tool 'x': /version: must be an integer of 1 or more, not -1\n" +
			"tool 'x': /parameters/properties/a/type: \"int\" is no type\n" +
			"tool 'x': /output/$ref: \"http://a/b\" is another document: a schema may refer only to itself"},
	} {
		d := echo("x")
		c.change(&d)
		r := &Registry{}
		err := r.Register(echo("fine"), d)
		var of *DefinitionError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error = %v, want %q", err, c.want)
		}
		if len(r.List()) != 0 {
			t.Error("a tool was registered despite the error")
		}
	}
}

func opens(h Handler, closer io.Closer) func(context.Context, *Context) (Handler, io.Closer, error) {
	return func(context.Context, *Context) (Handler, io.Closer, error) { return h, closer, nil }
}

// TestOwners checks that owners can remove and replace only the tools that they have registered.
func TestOwners(t *testing.T) {
	r := registered(t, echo("x"))
	a, b := r.As("client:a"), r.As("client:b")
	if err := errors.Join(a.Register(echo("mine")), b.Register(echo("other"))); err != nil {
		t.Fatal(err)
	}
	changed := echo("mine")
	changed.Description = "new"
	if err := a.Replace(changed, echo("more")); err != nil {
		t.Fatal(err)
	}
	if d, _ := r.Get("mine"); d.Description != "new" {
		t.Error(d.Description)
	}
	if err := b.Replace(echo("mine")); !errors.Is(err, ErrDuplicate) {
		t.Errorf("replacing the tool of another owner: error %v, want ErrDuplicate", err)
	}
	if b.Unregister("mine") || !a.Unregister("mine") || a.Unregister("mine") {
		t.Error("Unregister does not remove exactly the owner's tools")
	}
	a.Clear()
	if got := ids(r.List()); got != "other@1 x@1" {
		t.Error(got)
	}
	r.Close()
	if err := r.Register(echo("late")); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := r.Open(context.Background(), Context{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if r.Unregister("x") {
		t.Error("Unregister changed a closed registry")
	}
}

// TestWatch checks that changes that occur before the receiver is ready are combined into one.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registered(t, echo("old"), echo("changed"))
		ctx, cancel := context.WithCancel(context.Background())
		changes := r.Watch(ctx)
		synctest.Wait()
		for i := range 100 {
			if err := r.Register(version("x", i+1)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 98 {
			r.Unregister(fmt.Sprintf("x@%d", i+1))
		}
		if err := r.Replace(echo("changed")); err != nil {
			t.Fatal(err)
		}
		r.Unregister("old")
		synctest.Wait()
		c := <-changes
		if !slices.Equal(c.Added, []string{"changed@1", "x@99", "x@100"}) || !slices.Equal(c.Removed, []string{"changed@1", "old@1"}) || c.Revision != r.Revision() {
			t.Errorf("change = %+v, want the combined additions and removals", c)
		}
		if err := r.Register(echo("y")); err != nil {
			t.Fatal(err)
		}
		r.Unregister("y")
		synctest.Wait()
		select {
		case c := <-changes:
			t.Errorf("a tool that was added and removed is reported: %+v", c)
		default:
		}
		cancel()
		if c, more := <-changes; more {
			t.Errorf("received %+v after ctx ended, want a closed channel", c)
		}
		closed := r.Watch(context.Background())
		r.Close()
		if c, more := <-closed; more {
			t.Errorf("received %+v after Close, want a closed channel", c)
		}
	})
}

// TestChangesDuringCalls makes thousands of calls while tools are added and removed. Each call must
// have a valid outcome.
func TestChangesDuringCalls(t *testing.T) {
	r := registered(t, echo("stays"), echo("goes"))
	s := opened(t, r, Context{SessionID: "s"}, Hooks{})
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i%2 == 0 {
				r.Unregister("goes")
			} else if err := r.Register(echo("goes")); err != nil {
				t.Error(err)
			}
		}
	})
	var calls sync.WaitGroup
	for i := range 1000 {
		calls.Go(func() {
			for _, name := range []string{"stays", "goes"} {
				e := s.Do(context.Background(), Ask{Name: name, Args: json.RawMessage(fmt.Sprintf(`{"i":%d}`, i))})
				if fits := e.Outcome == OutcomeOK && string(e.Result.Output) == fmt.Sprintf(`{"i":%d}`, i); !fits && (name == "stays" || e.Outcome != OutcomeNotFound) {
					t.Errorf("call of %s = %+v, want its input as output, or not found for a removed tool", name, e)
				}
			}
		})
	}
	calls.Wait()
	close(stop)
	all.Wait()
}
