package host

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// turnSums are the sums of what the turns of an exchange report in their results. A nil member was
// not reported.
type turnSums struct {
	Cost  *float64           `json:"cost_usd,omitempty"`
	Turns *float64           `json:"turns,omitempty"`
	Usage map[string]float64 `json:"usage,omitempty"`
}

// add adds what a result reports.
func (s *turnSums) add(result *value.Map) {
	addNumber(&s.Cost, result, "cost_usd")
	addNumber(&s.Turns, result, "turns")
	usage, _ := result.GetString("usage")
	if usage.Map() == nil {
		return
	}
	if s.Usage == nil {
		s.Usage = map[string]float64{}
	}
	usage.Map().Each(func(name, v value.Slot) bool {
		if n, ok := numberIn(v); ok && name.Kind() == value.KindString {
			s.Usage[name.AsString()] += n
		}
		return true
	})
}

func addNumber(sum **float64, result *value.Map, name string) {
	v, _ := result.GetString(name)
	n, ok := numberIn(v)
	if !ok {
		return
	}
	if *sum != nil {
		n += **sum
	}
	*sum = &n
}

func numberIn(v value.Slot) (float64, bool) {
	switch v.Kind() {
	case value.KindInt:
		return float64(v.AsInt()), true
	case value.KindFloat:
		return v.AsFloat(), true
	}
	return 0, false
}

// number returns n as an Int if it is one, as hosts report tokens and turns.
func number(n float64) value.Slot {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return value.Int(int64(n))
	}
	return value.Float(n)
}

// setIn sets the sums in the result of the last turn.
func (s *turnSums) setIn(result *value.Map) {
	if s.Cost != nil {
		result.SetString("cost_usd", value.Float(*s.Cost))
	}
	if s.Turns != nil {
		result.SetString("turns", number(*s.Turns))
	}
	if s.Usage == nil {
		return
	}
	usage := value.NewMap(len(s.Usage))
	if last, _ := result.GetString("usage"); last.Map() != nil {
		last.Map().Each(func(name, v value.Slot) bool { // in the host's order, with its other members
			usage.Set(name, v)
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Usage)) {
		usage.SetString(name, number(s.Usage[name]))
	}
	result.SetString("usage", usage.Slot())
}

// turnSummary is the maximum length, in bytes, of the message for the end of a turn.
const turnSummary = 200

// turnStage is the stage of the progress message for the end of a turn.
const turnStage = "turn"

// turnEnd returns the progress message for a terminal message that ends a turn and not the
// exchange. The terminal message is its payload.
func turnEnd(m *effect.HostMessage, session string, sums *turnSums, next string) []byte {
	if session != "" {
		m.SetSession(session)
	}
	text := ""
	for _, name := range []string{"text", "message"} {
		if v, _ := m.Payload.Map().GetString(name); v.Kind() == value.KindString {
			text = v.AsString()
			break
		}
	}
	o := jsonobject.New(hostmsg.Progress)
	line, _, _ := strings.Cut(text, "\n")
	o.Text("message", utf8cut.Short(line, turnSummary))
	o.Text("stage", turnStage)
	if next != "" {
		o.Text("next", next)
	}
	for _, member := range jsonobject.MembersOf(jsonwrite.MustEncode(sums)) {
		o.Raw(member.Name, member.Value)
	}
	o.Raw("payload", messageLine(m.Type, value.AppendJSON(nil, m.Payload)))
	return o.End()
}

// endedTurn is what the progress message for the end of a turn contains.
type endedTurn struct {
	turnSums
	Next string `json:"next"`
}

// parseTurnEnd parses the progress message for the end of a turn. It returns nil for other
// messages.
func parseTurnEnd(m *effect.HostMessage) *endedTurn {
	if m.Type != hostmsg.Progress {
		return nil
	}
	if v, _ := m.Payload.Map().GetString("stage"); v.Kind() != value.KindString || v.AsString() != turnStage {
		return nil
	}
	e := new(endedTurn)
	if json.Unmarshal(value.AppendJSON(nil, m.Payload), e) != nil {
		return nil
	}
	return e
}
