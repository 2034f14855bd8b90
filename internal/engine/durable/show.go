package durable

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// The states of a run.
const (
	Running   = "running"
	Suspend   = "suspended"
	Killed    = "killed" // its process has neither ended nor suspended it
	Waiting   = "waiting"
	Finished  = "finished"
	Failed    = "failed"
	Continued = "continued"
	IsDamaged = "damaged"
)

// Shown is the state of a run, as `concerto runs show --format json` prints it. Times are RFC 3339
// in UTC with milliseconds.
type Shown struct {
	Run      string          `json:"run"`
	Dir      string          `json:"dir"`
	State    string          `json:"state"`
	Exit     *int            `json:"exit"`
	Program  string          `json:"program"`
	Started  string          `json:"started"`
	Effects  Effects         `json:"effects"`
	Pending  []ShownQuestion `json:"pending"`
	Answered []ShownAnswer   `json:"answered"` // in the order of the answers
	Unknown  []ShownUnknown  `json:"unknown"`
	Timers   []ShownTimer    `json:"timers"`
	Hosts    []ShownHost     `json:"hosts"`
	Gates    []ShownGates    `json:"gates,omitempty"` // of exchanges, in the order of their openings
	Usage    Usage           `json:"usage"`
	Journal  Size            `json:"journal"`
	// Continues is the id of the earlier run of which this one is the successor, and ContinuedAs is
	// that of its own successor; "" if there is none.
	Continues   string `json:"continues,omitempty"`
	ContinuedAs string `json:"continued_as,omitempty"`
	// Next is the run as which the run has continued; nil if it has not.
	Next *journal.Successor `json:"-"`
	// CanContinue means that the run waits for nothing, although it was parked.
	CanContinue bool   `json:"-"`
	Damage      string `json:"damage,omitempty"`
	// what was exported to a collector of OpenTelemetry; nil if nothing was
	Telemetry *ShownExport `json:"telemetry,omitempty"`
}

// ShownExport contains the number of spans that a collector has accepted, and of those that were
// sent and perhaps not received.
type ShownExport struct {
	Sent    int `json:"sent"`
	Unknown int `json:"unknown"`
}

// Effects contains the number of a run's effects by status.
type Effects struct {
	Done    int `json:"done"`
	None    int `json:"none"`
	Unknown int `json:"unknown"`
	Pending int `json:"pending"`
}

// ShownQuestion is an open question.
type ShownQuestion struct {
	ID        string          `json:"id"`
	Channel   string          `json:"channel"`
	Payload   json.RawMessage `json:"payload"`
	Type      string          `json:"type"`
	Since     string          `json:"since"`
	schema    json.RawMessage
	approval  bool        // the answer decides a request for approval
	outcomeOf effect.Kind // the question is about the outcome of an effect of this kind
}

// ShownAnswer is a question with an answer, or with an error if it was refused. By is the name of
// the person who answered, or the way, such as relay, handler or terminal.
type ShownAnswer struct {
	ID      string          `json:"id"`
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
	Value   json.RawMessage `json:"value,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	By      string          `json:"by"`
	At      string          `json:"at"`
}

// ShownUnknown is an effect with an unknown outcome.
type ShownUnknown struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	Policy  string          `json:"policy"`
	Request json.RawMessage `json:"request"`
	Key     string          `json:"key"`
	Began   string          `json:"began"`
}

// ShownTimer is a running timer of the run.
type ShownTimer struct {
	Effect int64  `json:"effect"`
	Due    string `json:"due"`
}

// ShownHost is a process of a host. Its state is attached, kept, ended or lost. PID is 0 if the
// process belongs to another machine, or is unknown.
type ShownHost struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	State string `json:"state"`
}

// ShownGates describes the gates of an exchange, such as "proved by go test ./... (turn 2)".
type ShownGates struct {
	Host  string `json:"host"`
	Proof string `json:"proof"`
}

// Usage is what models and hosts have used in a run. UnpricedCalls counts the replies whose cost is
// unknown.
type Usage struct {
	Calls           int64 `json:"calls"`
	FailedCalls     int64 `json:"failed_calls"`
	UnknownCalls    int   `json:"unknown_calls"`
	UnpricedCalls   int64 `json:"unpriced_calls,omitempty"`
	Exchanges       int64 `json:"exchanges"`
	FailedExchanges int64 `json:"failed_exchanges"`
	TokensIn        int64 `json:"tokens_in"`
	TokensOut       int64 `json:"tokens_out"`
	models.Parts
	CostUSD float64 `json:"cost_usd"`
	Cost    int64   `json:"-"` // CostUSD in units of 10⁻¹² US dollars
}

// Size is the size of a journal.
type Size struct {
	Records int   `json:"records"`
	Bytes   int64 `json:"bytes"`
}

// Broken returns the state of a run whose directory cannot be read, with the reason.
func Broken(dir string, why error) *Shown {
	return &Shown{Dir: dir, State: IsDamaged, Damage: why.Error(), Pending: []ShownQuestion{}, Answered: []ShownAnswer{}, Unknown: []ShownUnknown{}, Timers: []ShownTimer{}, Hosts: []ShownHost{}}
}

// Unbegun returns the state of a run that has no records.
func Unbegun(id, program string) *Shown {
	return &Shown{Run: id, Program: program, Pending: []ShownQuestion{}, Answered: []ShownAnswer{}, Unknown: []ShownUnknown{}, Timers: []ShownTimer{}, Hosts: []ShownHost{}}
}

func when(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// Show returns the state of a run from its journal. running means that a process is running it.
// policy returns the [run.unknown] policy of an effect. cost returns the cost of a reply. The error
// is one of reading the records.
func Show(stored *Stored, running bool, policy func(kind, address string) string, cost Cost) (*Shown, error) {
	h := stored.History
	start := h.Records[0]
	s := &Shown{Run: start.Run, Program: start.Program, Started: when(start.Time), Pending: []ShownQuestion{}, Answered: []ShownAnswer{}, Unknown: []ShownUnknown{}, Timers: []ShownTimer{}, Hosts: []ShownHost{},
		Journal: Size{int(h.N), h.Bytes}}
	t, err := tallied(stored.Run, h, cost)
	if err != nil {
		return nil, err
	}
	s.Effects, s.Usage, s.Exit = t.effects, t.usage(), t.exit
	s.countRunningCalls(t.servers, t.open)
	if stored.Next != nil {
		s.Next, s.ContinuedAs = stored.Next, stored.Next.Run
	} else {
		s.pending(t.open, t.opened, inProgress(h, running), policy)
	}
	if c := stored.Flags.Continues; c != nil {
		s.Continues = c.Run
		for e, earlier := range newCarried(c, h.Records).of {
			if q := s.Question(journal.QuestionID(e)); q != nil && earlier != nil {
				q.Since = when(earlier.Since)
			}
		}
	}
	s.listAnswered(h)
	for _, x := range t.exchanges {
		if x.Turn > 0 {
			s.Gates = append(s.Gates, ShownGates{x.Host, x.Proofs.String()})
		}
	}
	s.State, s.CanContinue = stateOf(h, running), h.Last().By == journal.ByParking
	if s.Exit == nil {
		s.listHosts(h, t.opened, running)
	}
	return s, nil
}

// listHosts adds the hosts of the open exchanges. A store that several machines share contains no
// other state of hosts.
func (s *Shown) listHosts(h *journal.History, opened map[int64]bool, running bool) {
	state := "kept"
	if running {
		state = "attached"
	}
	for _, r := range h.Records {
		if r.RecordKind != journal.KBegin || !opened[r.Effect] {
			continue
		}
		var q effect.ExchangeOpen
		_ = json.Unmarshal(r.Request, &q) // this package has written the request
		s.Hosts = append(s.Hosts, ShownHost{Host: q.Host, State: state})
	}
}

func stateOf(h *journal.History, running bool) string {
	switch last := h.Last(); {
	case h.Last().Outcome == journal.HasContinued:
		return Continued
	case last.RecordKind == journal.KFinish && last.Code != nil && *last.Code == 0:
		return Finished
	case last.RecordKind == journal.KFinish:
		return Failed
	case running:
		return Running
	case last.RecordKind == journal.KPark, last.By == journal.ByParking:
		return Waiting
	case last.RecordKind == journal.KStop, last.By == journal.BySuspending:
		return Suspend
	}
	return Killed
}

func (e *Effects) countEffect(x string) {
	switch x {
	case "none":
		e.None++
	case "unknown":
		e.Unknown++
	default:
		e.Done++
	}
}

// inProgress returns a function that reports whether an effect that has begun and not ended is in
// progress: the process that runs the run has begun it.
func inProgress(h *journal.History, running bool) func(begin *journal.Record) bool {
	first := uint64(0) // number of the first record of the newest process
	for _, r := range slices.Backward(h.Records) {
		if r.RecordKind == journal.KResume {
			first = r.Seq
			break
		}
	}
	return func(begin *journal.Record) bool { return running && begin.Seq > first }
}

// pending adds the effects that have begun and not ended: questions, timers, effects in progress,
// and effects with an unknown outcome.
func (s *Shown) pending(open map[int64]*journal.Record, opened map[int64]bool, inProgress func(*journal.Record) bool, policy func(kind, address string) string) {
	s.Effects.Pending += len(opened)
	all := make([]*journal.Record, 0, len(open))
	for _, r := range open {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *journal.Record) int { return int(a.Effect - b.Effect) })
	for _, r := range all {
		switch {
		case r.Kind == string(effect.KindSleep):
			s.Effects.Pending++
			s.Timers = append(s.Timers, ShownTimer{r.Effect, when(r.Due)})
		case r.Kind == string(effect.KindQueueWait):
			s.Effects.Pending++
		case r.Class == effect.ClassWaits.String():
			s.Effects.Pending++
			s.Pending = append(s.Pending, questionOf(r))
		case r.Class == effect.ClassKept.String(), inProgress(r):
			s.Effects.Pending++
		default:
			s.Effects.Unknown++
			s.Unknown = append(s.Unknown, unknownOf(r, policy))
		}
	}
}

// listAnswered adds the questions whose answers are in the journal.
func (s *Shown) listAnswered(h *journal.History) {
	asked := map[int64]*journal.Record{}
	for _, r := range h.Records {
		if r.RecordKind == journal.KBegin && isQuestion(r) {
			asked[r.Effect] = r
			continue
		}
		begin := asked[r.Effect]
		if r.RecordKind != journal.KEnd || begin == nil || r.By == "" {
			continue
		}
		var a effect.Answer
		_ = json.Unmarshal(r.Result, &a) // a large value is in a separate file and is not shown
		q := questionOf(begin)
		s.Answered = append(s.Answered, ShownAnswer{ID: q.ID, Channel: q.Channel, Payload: q.Payload, Value: a.Value, Error: r.Err, By: r.By, At: when(r.Time)})
	}
}

func questionOf(r *journal.Record) ShownQuestion {
	var q struct {
		Channel string          `json:"channel"`
		Payload json.RawMessage `json:"payload"`
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
	}
	_ = json.Unmarshal(r.Request, &q) // members that are missing or invalid are not shown
	x := ShownQuestion{ID: journal.QuestionID(r.Effect), Channel: q.Channel, Payload: q.Payload, Type: r.Type, Since: when(r.Time), schema: r.Schema}
	if r.Kind == string(effect.KindAskHost) {
		x.Channel, x.Payload = "host:"+q.Type, q.Message
	}
	x.approval = x.Channel == effect.ToolApproval || slices.ContainsFunc(hostmsg.Messages(), func(m hostmsg.Message) bool { return m.Channel == x.Channel && m.Form == hostmsg.YesNo })
	if x.Payload == nil {
		x.Payload = json.RawMessage("null")
	}
	if x.Type == "" {
		x.Type = "any"
	}
	return x
}

// PolicyKind returns the name of an effect's kind in [run.unknown], which is "" for a kind without
// a policy, and the address in the request.
func PolicyKind(kind string, request []byte) (name, address string) {
	switch effect.Kind(kind) {
	case effect.KindHTTP:
		var q struct {
			URL string `json:"url"`
		}
		_ = json.Unmarshal(request, &q) // this package has written the request
		return "http", q.URL
	case effect.KindCommand, effect.KindWorkRun:
		return "command", ""
	case effect.KindMCPOpen:
		return "mcp", ""
	case effect.KindAppCall:
		return "tool", ""
	}
	return "file", ""
}

func unknownOf(r *journal.Record, policy func(kind, address string) string) ShownUnknown {
	x := ShownUnknown{ID: journal.UnknownID(r.Effect), Kind: r.Kind, Request: r.Request, Key: r.Key, Began: when(r.Time), Policy: "retry"}
	if r.Policy != "" {
		x.Policy = r.Policy
	} else if r.Class == effect.ClassOnce.String() || r.Class == effect.ClassSettled.String() {
		x.Policy = policy(PolicyKind(r.Kind, r.Request))
	}
	if x.Request == nil {
		x.Request = json.RawMessage("{}")
	}
	return x
}
