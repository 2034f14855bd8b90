package telemetry

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/otlp"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// handlers contains for each kind of event that is exported the function that exports it.
var handlers = map[event.Kind]func(*Run, *event.Event){
	event.Run: (*Run).handleRun, event.Task: (*Run).handleTask, event.Pipeline: (*Run).handlePipeline, event.Stage: (*Run).handleStage,
	event.Agent: (*Run).handleAgent, event.Model: (*Run).handleModel, event.Tool: (*Run).handleTool, event.MCP: (*Run).handleMCP, event.HTTP: (*Run).handleHTTP,
	event.Command: (*Run).handleCommand, event.Exchange: (*Run).handleExchange, event.Message: (*Run).handleMessage,
	event.Question: (*Run).handleRequest, event.Approval: (*Run).handleRequest, event.Await: (*Run).handleAwait, event.Decision: (*Run).handleDecision,
	event.Emit: (*Run).handleEmit, event.Print: func(r *Run, e *event.Event) { r.point(e) },
	event.Retry: (*Run).handleStep, event.Repair: (*Run).handleStep, event.Fallback: (*Run).handleStep, event.Log: (*Run).handleLog,
	event.Request: (*Run).handleEffect,
}

// Attributes with the same names everywhere.
const (
	operation = "gen_ai.operation.name"
	provider  = "gen_ai.provider.name"
	agentName = "gen_ai.agent.name"
	toolName  = "gen_ai.tool.name"
)

// handleRun handles a first task: main, or the initialization of a file. Its span is that of the
// run.
func (r *Run) handleRun(e *event.Event) {
	if e.Phase != event.Begin {
		delete(r.open, e.Item)
		return
	}
	r.open[e.Item] = r.root
	if r.root.get("code.file.path") == nil && e.Name == "main" {
		r.root.setPlace(e.Place)
	}
}

// finish ends the span of an item with its outcome, and returns it. It returns nil without one.
func (r *Run) finish(e *event.Event) *span {
	x := r.open[e.Item]
	if x == nil || x.item != e.Item {
		return nil
	}
	switch {
	case e.Err != nil:
		x.fail(r.t, errorType(e), e.Err.Error())
	case e.How != "":
		x.fail(r.t, e.How, "")
	}
	return x
}

// errorType returns the type of an error: its class for an attempt at a model, else its type in the
// program.
func errorType(e *event.Event) string {
	if e.Attempt != nil && e.Attempt.Reason != "" {
		return e.Attempt.Reason
	}
	if failed, ok := errors.AsType[*effect.Error](e.Err); ok {
		return cmp.Or(failed.Type, failed.Kind)
	}
	return "cancelled"
}

func (r *Run) handleTask(e *event.Event) {
	if e.Phase == event.Begin {
		x := r.begin(e, "task "+e.Name, otlp.Internal)
		x.set("concerto.task", e.Task)
		x.left = e.Parent == 0 || strings.HasPrefix(e.Name, "__") // the initial state of a tool, or a task of the library
	} else if x := r.finish(e); x != nil {
		r.end(x, e)
	}
}

func (r *Run) handlePipeline(e *event.Event) {
	if e.Phase == event.Begin {
		x := r.begin(e, "invoke_workflow "+e.Name, otlp.Internal)
		x.set(operation, "invoke_workflow")
		x.set(agentName, e.Name)
	} else if x := r.finish(e); x != nil {
		r.end(x, e)
		r.measureInvocation(x, seconds(e))
	}
}

func (r *Run) handleStage(e *event.Event) {
	if e.Phase == event.Begin {
		r.begin(e, "stage "+e.Name, otlp.Internal).set("concerto.stage.name", e.Name)
	} else if x := r.finish(e); x != nil {
		r.end(x, e)
	}
}

// seconds returns the duration of an item that ends.
func seconds(e *event.Event) float64 { return (e.At - e.Began).Seconds() }

func (r *Run) handleAgent(e *event.Event) {
	if e.Phase == event.Begin {
		call := e.Attempt.Call
		x := r.begin(e, "invoke_agent "+e.Name, otlp.Internal)
		x.set(operation, "invoke_agent")
		x.set(provider, r.provider(call.Connection))
		x.set(agentName, e.Name)
		x.set("gen_ai.request.model", call.Model)
		if call.Schema != nil {
			x.set("gen_ai.output.type", "json")
		}
		return
	}
	x := r.finish(e)
	if x == nil {
		return
	}
	if x.counted {
		x.setUsage(x.used)
	}
	r.end(x, e)
	r.measureInvocation(x, seconds(e))
}

// measureInvocation adds the duration of a run, a pipeline, a call of an agent or an exchange with
// a host to the metrics.
func (r *Run) measureInvocation(x *span, seconds float64) {
	r.measure("gen_ai.invoke_agent.duration", seconds, x.errorType(), x.of(agentName), x.of(operation), x.of(provider), x.of("gen_ai.request.model"))
}

// provider returns the name of the provider of a connection.
func (r *Run) provider(connection string) string {
	if c, ok := r.options.Connections[connection]; ok {
		return providerName(c.Provider)
	}
	return connection
}

func (r *Run) handleModel(e *event.Event) {
	a := e.Attempt
	if e.Phase == event.Begin {
		x := r.begin(e, strings.TrimSpace("chat "+a.Model), otlp.Client)
		x.set(operation, "chat")
		x.set(provider, r.provider(a.Connection))
		x.setServer(r.options.Connections[a.Connection].Address)
		x.set("concerto.attempt", a.Number)
		x.setRequest(a)
		if x.around.kind == event.Agent {
			x.around.tools = a.Call.Tools
		}
		if a.IsStream {
			x.set("gen_ai.request.stream", true)
		}
		return
	}
	x := r.finish(e)
	if x == nil {
		return
	}
	if reply := a.Reply; reply != nil {
		x.set("gen_ai.response.id", reply.RequestID)
		x.set("gen_ai.response.model", reply.Model)
		x.set("gen_ai.response.finish_reasons", []string{finishReason(reply)})
		x.setUsage(reply.Usage())
		if reply.Estimated {
			x.set("concerto.usage.estimated", true)
		}
		if agent := x.around; agent.kind == event.Agent {
			agent.used.In += reply.TokensIn
			agent.used.Out += reply.TokensOut
			agent.used.Parts = agent.used.Plus(reply.Parts)
			agent.counted = true
		}
	} else if a.Used.Tokens() > 0 {
		x.setUsage(models.Usage{In: a.Used.TokensIn, Out: a.Used.TokensOut, Parts: a.Used.Parts})
	}
	if a.Used.Unpriced == 0 && (a.Reply != nil || a.Used.Tokens() > 0) {
		x.set("concerto.cost_usd", budget.Money(a.Used.Cost).USD())
	}
	if a.First > 0 {
		x.set("gen_ai.response.time_to_first_chunk", a.First.Seconds())
	}
	r.content(x, e)
	r.end(x, e)
	if a.Used.Calls > 0 {
		r.measureModel(x, e)
	}
}

// finishReason returns the provider's reason for the end of a reply, or else that of the program.
func finishReason(reply *effect.AgentReply) string {
	return cmp.Or(reply.FinishReason, reply.StopReason)
}

// tokenPart is a number of tokens of a special kind.
type tokenPart struct {
	name   string // end of the names of its attribute and of its metric
	tokens int64
}

// partsOf returns the tokens of special kinds that a provider reports.
func partsOf(of models.Parts) (list []tokenPart) {
	for _, p := range []tokenPart{{"cache_read.input_tokens", of.Cached}, {"cache_write.input_tokens", of.CacheWrite}, {"reasoning.output_tokens", of.Reasoning}} {
		if p.tokens > 0 {
			list = append(list, p)
		}
	}
	return list
}

// setUsage sets what requests to models have used.
func (x *span) setUsage(u models.Usage) {
	x.set("gen_ai.usage.input_tokens", u.In)
	x.set("gen_ai.usage.output_tokens", u.Out)
	for _, p := range partsOf(u.Parts) {
		x.set("gen_ai.usage."+p.name, p.tokens)
	}
}

// setRequest sets the parameters of a request to a model, as they are sent.
func (x *span) setRequest(a *event.Attempt) {
	call := a.Call
	x.set("gen_ai.request.model", a.Model)
	if call.MaxTokens != nil {
		x.set("gen_ai.request.max_tokens", *call.MaxTokens)
	}
	if call.Temperature != nil {
		x.set("gen_ai.request.temperature", *call.Temperature)
	}
	if call.TopP != nil {
		x.set("gen_ai.request.top_p", *call.TopP)
	}
	if call.Seed != nil {
		x.set("gen_ai.request.seed", *call.Seed)
	}
	if len(call.Stop) > 0 {
		x.set("gen_ai.request.stop_sequences", call.Stop)
	}
	x.set("gen_ai.request.reasoning.level", call.Effort)
}

// measureModel adds an attempt that has sent a request to the metrics.
func (r *Run) measureModel(x *span, e *event.Event) {
	list := func(more ...otlp.Attribute) []otlp.Attribute {
		return append([]otlp.Attribute{x.of(operation), x.of(provider), x.of("gen_ai.request.model"), x.of("gen_ai.response.model"), x.of("server.address"), x.of("server.port")}, more...)
	}
	r.measure("gen_ai.client.inference.duration", seconds(e), list(x.errorType())...)
	if first := e.Attempt.First; first > 0 {
		r.measure("gen_ai.client.inference.time_to_first_chunk", first.Seconds(), list()...)
	}
	reply := e.Attempt.Reply
	if reply == nil {
		return
	}
	r.measure("gen_ai.client.inference.operation.input_tokens", float64(reply.TokensIn), list()...)
	r.measure("gen_ai.client.inference.operation.output_tokens", float64(reply.TokensOut), list()...)
	modality := otlp.Attribute{Key: "gen_ai.token.modality", Value: "text"}
	if reply.TokensIn == 0 && reply.TokensOut == 0 {
		modality.Value = "unknown"
	}
	r.measure("gen_ai.client.inference.usage.input_tokens", float64(reply.TokensIn), list(modality)...)
	r.measure("gen_ai.client.inference.usage.output_tokens", float64(reply.TokensOut), list(modality)...)
	for _, p := range partsOf(reply.Parts) {
		r.measure("gen_ai.client.inference.usage."+p.name, float64(p.tokens), list(modality)...)
	}
	if cost, ok := x.get("concerto.cost_usd").(float64); ok {
		r.measure("concerto.cost", cost, x.of(provider), x.of("gen_ai.request.model"), x.of("gen_ai.response.model"))
	}
}

func (r *Run) handleTool(e *event.Event) {
	if e.Phase == event.Begin {
		x := r.begin(e, "execute_tool "+e.Name, otlp.Internal)
		x.set(operation, "execute_tool")
		x.set(toolName, e.Name)
		x.set("gen_ai.tool.type", "function")
		x.set("gen_ai.tool.description", x.descriptionOf(e.Name))
		if e.Step != nil {
			x.set("gen_ai.tool.call.id", e.Step.ID)
			x.set("gen_ai.tool.call.arguments", r.text("", asJSON(e.Step.Text)).Value)
		}
		return
	}
	x := r.finish(e)
	if x == nil {
		return
	}
	if e.Step != nil {
		if e.Step.Failed && !x.Failed {
			x.fail(r.t, "ToolError", e.Step.Text)
		}
		x.set("gen_ai.tool.call.result", r.text("", asJSON(e.Step.Text)).Value)
	}
	r.end(x, e)
	if !x.left {
		r.measure("gen_ai.execute_tool.duration", seconds(e), x.errorType(), x.of(toolName), x.of(operation), x.of("gen_ai.tool.type"))
	}
}

// descriptionOf returns the description of a tool that the model or host around the span may call.
func (x *span) descriptionOf(tool string) string {
	for x = x.around; x != nil; x = x.around {
		for i := range x.tools {
			if x.tools[i].Name == tool {
				return x.tools[i].Description
			}
		}
	}
	return ""
}

// asJSON returns a text that is JSON as a structured value.
func asJSON(s string) any {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	return s
}

func (r *Run) handleMCP(e *event.Event) {
	if e.Phase == event.Begin {
		q, ok := e.Request.(*effect.MCPOpen)
		if !ok {
			return
		}
		method := q.Method
		if method == "" {
			method = effect.MCPCallTool
		}
		x := r.begin(e, strings.TrimSpace(method+" "+q.Tool), otlp.Client)
		x.set("mcp.method.name", method)
		transport := "pipe"
		if r.options.Servers[q.Server].IsHTTP {
			transport = "tcp"
		}
		x.set("network.transport", transport)
		if method == effect.MCPCallTool {
			x.set(operation, "execute_tool")
			x.set(toolName, q.Tool)
		}
		return
	}
	if x := r.finish(e); x != nil {
		if last, ok := e.Result.(*effect.MCPEvent); ok && last != nil {
			x.set("mcp.protocol.version", last.Protocol)
			x.set("jsonrpc.request.id", last.RequestID)
		}
		r.end(x, e)
		r.measure("mcp.client.operation.duration", seconds(e), x.errorType(), x.of("mcp.method.name"), x.of(operation), x.of(toolName))
	}
}

func (r *Run) handleHTTP(e *event.Event) {
	if q, ok := e.Request.(*effect.HTTP); ok && e.Phase == event.Begin {
		x := r.begin(e, q.Method, otlp.Client)
		x.set("http.request.method", q.Method)
		x.set("url.full", redacted(q.URL))
		x.setServer(q.URL)
		return
	}
	if x := r.finish(e); x != nil {
		if reply, ok := e.Result.(*effect.HTTPResponse); ok && reply != nil {
			x.set("http.response.status_code", reply.Status)
		}
		r.end(x, e)
	}
}

// redacted returns a URL without its user information and the values of its query.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "invalid"
	}
	u.User = nil
	if u.RawQuery != "" {
		query := u.Query()
		for key, values := range query {
			for i := range values {
				query[key][i] = "REDACTED"
			}
		}
		u.RawQuery = query.Encode()
	}
	return u.String()
}

func (r *Run) handleCommand(e *event.Event) {
	if e.Phase == event.Begin {
		name := filepath.Base(e.Name)
		r.begin(e, name, otlp.Internal).set("process.executable.name", name)
		return
	}
	if x := r.finish(e); x != nil {
		if out, ok := e.Result.(*effect.CommandOutput); ok && out != nil {
			x.set("process.exit.code", out.ExitCode)
		}
		r.end(x, e)
	}
}

func (r *Run) handleExchange(e *event.Event) {
	if e.Phase == event.Begin {
		host := r.options.Hosts[e.Name]
		x := r.begin(e, "invoke_agent "+e.Name, otlp.Client)
		x.set(operation, "invoke_agent")
		x.set(agentName, e.Name)
		if x.set(provider, providers[host.Transport]); providers[host.Transport] == "" {
			x.set(provider, host.Connector)
		}
		x.set("concerto.host.transport", host.Transport)
		if q, ok := e.Request.(*effect.ExchangeOpen); ok {
			x.tools = q.Tools
		}
		return
	}
	x := r.finish(e)
	if x == nil {
		return
	}
	if opened, ok := e.Result.(*effect.ExchangeOpened); ok && opened.Started > 0 {
		x.set("concerto.host.process", opened.Started)
	}
	if m := e.Message; m != nil {
		x.set("gen_ai.conversation.id", m.Session())
	}
	if u := e.Used; u.Tokens() > 0 || u.Cost > 0 {
		x.setUsage(models.Usage{In: u.TokensIn, Out: u.TokensOut, Parts: u.Parts})
		x.set("concerto.cost_usd", budget.Money(u.Cost).USD())
	}
	r.end(x, e)
	r.measureInvocation(x, seconds(e))
	for item, of := range r.open { // its messages
		if of == x {
			delete(r.open, item)
		}
	}
}

// countMessage counts a message of a host by its type, if the protocol defines that.
func (r *Run) countMessage(x *span, typ string) {
	if !hostmsg.Lookup(typ).IsKnown() {
		typ = "other"
	}
	r.measure("concerto.host.messages", 1, x.of(agentName), otlp.Attribute{Key: "concerto.message.type", Value: typ})
}

func (r *Run) handleMessage(e *event.Event) {
	r.countMessage(r.around(e), e.Name)
	list := []otlp.Attribute{{Key: "concerto.message.type", Value: e.Name}}
	if e.Message != nil {
		list = append(list, r.text("concerto.content", json.RawMessage(value.AppendJSON(nil, e.Message.Payload))))
	}
	r.point(e, list...)
}

func (r *Run) handleEmit(e *event.Event) {
	q, ok := e.Request.(*effect.Emit)
	if ok {
		r.point(e, otlp.Attribute{Key: "concerto.channel", Value: q.Channel}, r.text("concerto.content", q.Payload))
	}
}

// handleStep handles a retry, a repair or a fallback.
func (r *Run) handleStep(e *event.Event) {
	list := []otlp.Attribute{}
	if a := e.Attempt; a != nil {
		list = append(list, otlp.Attribute{Key: "concerto.attempt", Value: a.Number}, otlp.Attribute{Key: "error.type", Value: a.Reason})
	}
	if e.Step != nil {
		list = append(list, r.text("concerto.content", e.Step.Text))
	}
	r.point(e, list...)
}

// levels maps the levels of a program's log to severities.
var levels = map[string]string{"debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR"}

func (r *Run) handleLog(e *event.Event) {
	q, ok := e.Request.(*effect.Log)
	severity := levels[e.Name]
	if !ok || severity == "" || e.Phase == event.Begin { // printed text has no level
		return
	}
	l := &otlp.Log{Trace: r.context.Trace, Span: r.around(e).ID, At: r.at(e.At), Severity: severity, Body: q.Message}
	if e.Effect != 0 {
		l.Attributes = append(l.Attributes, otlp.Attribute{Key: "concerto.effect", Value: e.Effect})
	}
	r.t.exporter.Log(l)
}

// handleRequest handles a question or an approval of a host.
func (r *Run) handleRequest(e *event.Event) {
	if e.Phase != event.Begin {
		r.answered(e)
		return
	}
	around := r.around(e)
	name := strings.TrimPrefix(around.Name, "invoke_agent ")
	x := r.beginWait(e, "await_answer "+name, string(e.Kind))
	m := e.Message
	if m == nil {
		return
	}
	r.countMessage(around, m.Type)
	payload := value.AppendJSON(nil, m.Payload)
	if e.Kind == event.Approval {
		x.setTool(payload, name)
	}
	x.set("concerto.approval.id", strings.Trim(m.ID, `"`))
	x.set("concerto.content", r.text("", json.RawMessage(payload)).Value)
	r.byWait[wait{host: name, id: m.ID}] = x
}

// setTool sets the tool that an approval is about. The name of the span is that of the host without
// one.
func (x *span) setTool(asked []byte, host string) {
	var about struct {
		Tool string `json:"tool"`
	}
	_ = json.Unmarshal(asked, &about) // a request of another form names no tool
	x.set(toolName, about.Tool)
	x.Name = "await_approval " + host
	if about.Tool != "" {
		x.Name = "await_approval " + about.Tool
	}
}

// beginWait begins the span of a request for an answer.
func (r *Run) beginWait(e *event.Event, name, kind string) *span {
	x := r.begin(e, name, otlp.Internal)
	x.asks = kind
	x.set("concerto.approval.kind", kind)
	r.measure("concerto.approval.pending", 1, x.of("concerto.approval.kind"))
	return x
}

func (r *Run) handleAwait(e *event.Event) {
	if e.Phase != event.Begin {
		r.answered(e)
		return
	}
	q, ok := e.Request.(*effect.AwaitEmit)
	if !ok {
		return
	}
	kind := string(event.Await)
	if q.Channel == effect.ToolApproval {
		kind = "tool"
	}
	x := r.beginWait(e, "await_emit "+q.Channel, kind)
	x.set("concerto.content", r.text("", q.Payload).Value)
	if kind != "tool" {
		r.byWait[wait{effect: e.Effect}] = x
		return
	}
	x.setTool(q.Payload, q.Channel)
	call := callID(q.Payload)
	x.set("concerto.approval.id", call)
	r.byWait[wait{id: call}] = x
}

// callID returns the id of the tool call that a request for approval is about.
func callID(asked []byte) string {
	var of struct {
		ID string `json:"call_id"`
	}
	_ = json.Unmarshal(asked, &of) // the library has encoded the request
	return of.ID
}

// answered handles the end of a request for an answer. The span is exported when the decision is
// known, which is reported before or after this event.
func (r *Run) answered(e *event.Event) {
	x := r.open[e.Item]
	if x == nil || x.item != e.Item {
		return
	}
	delete(r.open, e.Item)
	x.End = r.at(e.At)
	r.measure("concerto.approval.pending", -1, x.of("concerto.approval.kind"))
	await, _ := e.Request.(*effect.AwaitEmit)
	switch failed, _ := errors.AsType[*effect.Error](e.Err); {
	case x.decision != "":
	case failed != nil && await != nil && await.Asks == nil && x.asks == string(event.Await): // the decision follows
	case failed != nil && failed.Fields["reason"] == "timeout":
		x.decision = "timeout"
	case failed == nil && e.Err != nil && strings.HasPrefix(e.Err.Error(), "withdrawn"):
		x.decision = "withdrawn"
	case e.Err != nil:
		x.decision = "error"
	}
	if failed, ok := errors.AsType[*effect.Error](e.Err); ok {
		x.fail(r.t, failed.Kind, failed.Message)
	}
	if x.decision != "" {
		r.exportWait(x)
	}
}

// exportWait exports the span of a request with its decision.
func (r *Run) exportWait(x *span) {
	for key, of := range r.byWait {
		if of == x {
			delete(r.byWait, key)
		}
	}
	x.set("concerto.approval.decision", x.decision)
	r.export(x)
	r.measure("concerto.approval.duration", x.End.Sub(x.Begin).Seconds(), x.of("concerto.approval.kind"), x.of("concerto.approval.decision"), otlp.Attribute{Key: "concerto.approval.actor.type", Value: x.actor})
}

func (r *Run) handleDecision(e *event.Event) {
	d := e.Decided
	x := r.byWait[wait{effect: e.Effect}]
	switch {
	case d.Call != nil:
		x = r.byWait[wait{id: callID(d.Asked)}]
	case d.Host != "":
		x = r.byWait[wait{host: d.Host, id: string(d.ID)}]
	}
	if x == nil || x.actor != "" {
		return
	}
	x.actor = d.Actor.Type
	x.set("concerto.approval.actor.type", d.Actor.Type)
	x.set("concerto.approval.actor.name", d.Actor.Name)
	if p := d.At; d.Handler && p.File != "" {
		x.set("concerto.approval.rule", p.File+":"+strconv.Itoa(p.Line)+":"+strconv.Itoa(p.Column))
	}
	x.decide(d)
	if call := x.around; x.decision == "deny" && d.Call != nil {
		for call.left && call.around != nil {
			call = call.around
		}
		call.left = call.kind == event.Tool // a call that was denied was not executed
	}
	if !x.End.IsZero() {
		r.exportWait(x)
	}
}

// decide sets the decision of a request, with its scope and the hash of the arguments.
func (x *span) decide(d *event.Decided) {
	switch {
	case d.Call != nil:
		x.decision = d.Call.Decision
		x.set("concerto.approval.scope", d.Call.Scope)
		x.set("concerto.approval.args_sha256", d.Call.ArgsSHA256)
	case strings.HasPrefix(d.Problem, "withdrawn"):
		x.decision = "withdrawn"
	case d.Actor.Type == effect.ActorTimeout:
		x.decision = "timeout"
	case d.Answer == nil:
		x.decision = "error"
	case x.asks != string(event.Approval):
		x.decision = "answered"
	default:
		answer := decision.Parse(d.Answer)
		x.decision = "deny"
		if answer.Allow {
			x.decision = "allow"
			x.set("concerto.approval.scope", answer.Scope)
		}
		x.setHash(d.Asked, answer.Input)
	}
}

// setHash sets the hash of the arguments that an approval is about: those that the answer replaces
// them with, or else those of the request.
func (x *span) setHash(asked, instead []byte) {
	var of struct {
		Args json.RawMessage `json:"args"`
	}
	_ = json.Unmarshal(asked, &of) // a request of another form has no arguments
	if instead != nil {
		of.Args = instead
	}
	if of.Args != nil {
		x.set("concerto.approval.args_sha256", decision.Hash(of.Args))
	}
}
