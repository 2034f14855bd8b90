package continuity

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

// TurnTotals are what an exchange has used. A host reports what its current turn has used. Only the
// reader of the exchange's process uses them.
type TurnTotals struct {
	Sums  TurnSums      // of the turns that have ended
	Ends  int           // number of turns that have ended
	now   TurnSums      // of the current turn
	Limit *effect.Error // the limit at which the exchange must stop; nil for none
}

// AddMessage adds what a progress or a result reports. If earlier turns have ended, it replaces
// these members of the message by those of the exchange. A result corrects what the turn reported
// before.
func (t *TurnTotals) AddMessage(m *effect.HostMessage) {
	if m.Type != hostmsg.Progress && m.Type != hostmsg.Result {
		return
	}
	all := m.Payload.Map()
	if all == nil || !hasTotals(all) {
		return
	}
	t.now.update(all, m.Type == hostmsg.Result)
	if t.Ends > 0 {
		t.Sums.addTo(all)
	}
}

// hasTotals reports whether a message has a member that turnSums contains.
func hasTotals(m *value.Map) (found bool) {
	m.Each(func(name, _ value.Slot) bool {
		if name.Kind() == value.KindString {
			switch name.AsString() {
			case "cost_usd", "turns", "usage", "models":
				found = true
			}
		}
		return !found
	})
	return found
}

// EndTurn adds the totals of the current turn, which has ended, to the sums.
func (t *TurnTotals) EndTurn() {
	t.Sums = t.Sums.plus(&t.now)
	t.now = TurnSums{}
	t.Ends++
}

// Resume restores the totals of an exchange that an earlier Concerto process began.
func (t *TurnTotals) Resume(past *TurnHistory, used *effect.HostUsage) {
	t.Sums, t.Ends = past.Sums, past.Ends
	above := func(total float64, ended *float64) *float64 {
		if ended != nil {
			total -= *ended
		}
		if total <= 0 {
			return nil
		}
		return &total
	}
	t.now.Turns = above(float64(used.Turns), t.Sums.Turns)
	if used.Priced {
		t.now.Cost = above(used.CostUSD, t.Sums.Cost)
	}
	for name, n := range map[string]int64{"tokens_in": used.TokensIn, "tokens_out": used.TokensOut, "tokens_cached": used.TokensCached} {
		if over := float64(n) - t.Sums.Usage[name]; over > 0 {
			if t.now.Usage == nil {
				t.now.Usage = map[string]float64{}
			}
			t.now.Usage[name] = over
		}
	}
}

// TurnSums are sums of what turns report. A nil member was not reported.
type TurnSums struct {
	Cost  *float64           `json:"cost_usd,omitempty"`
	Turns *float64           `json:"turns,omitempty"`
	Usage map[string]float64 `json:"usage,omitempty"`

	Models map[string]map[string]float64 `json:"models,omitempty"` // HostUsages, by the name of the model
}

// update sets the members that a message of a turn reports. Without isResult, a value that is lower
// than before is ignored.
func (s *TurnSums) update(m *value.Map, isResult bool) {
	set := func(old *float64, n float64) *float64 {
		if old != nil && *old > n && !isResult {
			return old
		}
		return &n
	}
	if n, ok := reported(m, "cost_usd"); ok && !isEstimated(m) {
		s.Cost = set(s.Cost, n)
	}
	if n, ok := reported(m, "turns"); ok {
		s.Turns = set(s.Turns, n)
	}
	usage, _ := m.GetString("usage")
	s.Usage = updateNumbers(s.Usage, usage, isResult)
	models, _ := m.GetString("models")
	if models.Map() == nil {
		return
	}
	if s.Models == nil || isResult {
		s.Models = map[string]map[string]float64{}
	}
	models.Map().Each(func(name, v value.Slot) bool {
		if v.Map() != nil && name.Kind() == value.KindString {
			s.Models[name.AsString()] = updateNumbers(s.Models[name.AsString()], v, isResult)
		}
		return true
	})
}

// updateNumbers sets the numbers that a map contains, and returns all. Without isResult, a number
// that is lower than before is ignored. It returns all unchanged if v is no map.
func updateNumbers(all map[string]float64, v value.Slot, isResult bool) map[string]float64 {
	if v.Map() == nil {
		return all
	}
	if all == nil {
		all = map[string]float64{}
	}
	v.Map().Each(func(name, v value.Slot) bool {
		if n, ok := numberIn(v); ok && name.Kind() == value.KindString {
			if before := all[name.AsString()]; n > before || isResult {
				all[name.AsString()] = n
			}
		}
		return true
	})
	return all
}

// plus returns the sums of s and t.
func (s *TurnSums) plus(t *TurnSums) (sums TurnSums) {
	return TurnSums{Cost: addNumbers(s.Cost, t.Cost), Turns: addNumbers(s.Turns, t.Turns),
		Usage: addMaps(s.Usage, t.Usage, plus), Models: addMaps(s.Models, t.Models, func(a, b map[string]float64) map[string]float64 {
			return addMaps(a, b, plus)
		})}
}

func plus(a, b float64) float64 { return a + b }

// addMaps returns the sums of the elements of a and b with the same name, as add computes them. It
// returns nil if both are nil.
func addMaps[V any](a, b map[string]V, add func(x, y V) V) map[string]V {
	if a == nil && b == nil {
		return nil
	}
	sums := map[string]V{}
	maps.Copy(sums, a)
	for name, x := range b {
		sums[name] = add(sums[name], x)
	}
	return sums
}

func addNumbers(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := *a + *b
	return &sum
}

// isEstimated reports whether Concerto has computed the cost in a message.
func isEstimated(m *value.Map) bool {
	v, _ := m.GetString("cost_estimated")
	return v.Kind() == value.KindBool && v.AsBool()
}

func reported(m *value.Map, name string) (float64, bool) {
	v, _ := m.GetString(name)
	return numberIn(v)
}

// numberIn returns a number that is not negative. A negative one is invalid.
func numberIn(v value.Slot) (float64, bool) {
	switch v.Kind() {
	case value.KindInt:
		return float64(v.AsInt()), v.AsInt() >= 0
	case value.KindFloat:
		return v.AsFloat(), v.AsFloat() >= 0
	}
	return 0, false
}

// addTo adds the sums to the members that a message contains.
func (s *TurnSums) addTo(m *value.Map) {
	if n, ok := reported(m, "cost_usd"); ok && s.Cost != nil && !isEstimated(m) {
		m.SetString("cost_usd", value.Float(n+*s.Cost))
	}
	if n, ok := reported(m, "turns"); ok && s.Turns != nil {
		m.SetString("turns", number(n+*s.Turns))
	}
	if v, _ := m.GetString("models"); v.Map() != nil && s.Models != nil {
		var reported TurnSums
		reported.update(m, true)
		all := s.plus(&reported)
		m.SetString("models", all.models())
	}
	v, _ := m.GetString("usage")
	if v.Map() == nil || s.Usage == nil {
		return
	}
	usage := value.NewMap(len(s.Usage))
	v.Map().Each(func(name, v value.Slot) bool {
		if n, ok := numberIn(v); ok && name.Kind() == value.KindString {
			v = number(n + s.Usage[name.AsString()])
		}
		usage.Set(name, v)
		return true
	})
	m.SetString("usage", usage.Slot())
}

// models returns the value of the member models.
func (s *TurnSums) models() value.Slot {
	models := value.NewMap(len(s.Models))
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		used := value.NewMap(len(s.Models[name]))
		for _, what := range slices.Sorted(maps.Keys(s.Models[name])) {
			if n := s.Models[name][what]; what == "cost_usd" {
				used.SetString(what, value.Float(n))
			} else {
				used.SetString(what, number(n))
			}
		}
		models.SetString(name, used.Slot())
	}
	return models.Slot()
}

// number returns n as an Int if it is one, as hosts report tokens and turns.
func number(n float64) value.Slot {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return value.Int(int64(n))
	}
	return value.Float(n)
}

// SetIn sets the sums in the result of the last turn.
func (s *TurnSums) SetIn(result *value.Map) {
	if s.Cost != nil {
		result.SetString("cost_usd", value.Float(*s.Cost))
	}
	if s.Turns != nil {
		result.SetString("turns", number(*s.Turns))
	}
	if s.Models != nil {
		result.SetString("models", s.models())
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

// TurnEnd returns the progress message for a terminal message that ends a turn and not the
// exchange. The terminal message is its payload.
func TurnEnd(m *effect.HostMessage, session string, sums *TurnSums, next string) []byte {
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
	o.Raw("payload", MessageLine(m.Type, value.AppendJSON(nil, m.Payload)))
	return o.End()
}

// EndedTurn is what the progress message for the end of a turn contains.
type EndedTurn struct {
	TurnSums
	Next    string `json:"next"`
	Foreign bool   `json:"foreign"` // the exchange has not begun the turn
	Waits   bool   `json:"waits"`   // the exchange waits for background work; the totals are its own
}

// ParseTurnEnd parses the progress message for the end of a turn. It returns nil for other
// messages.
func ParseTurnEnd(m *effect.HostMessage) *EndedTurn {
	if m.Type != hostmsg.Progress {
		return nil
	}
	if v, _ := m.Payload.Map().GetString("stage"); v.Kind() != value.KindString || v.AsString() != turnStage {
		return nil
	}
	e := new(EndedTurn)
	if json.Unmarshal(value.AppendJSON(nil, m.Payload), e) != nil || e.Foreign || e.Waits {
		return nil
	}
	if isEstimated(m.Payload.Map()) {
		e.Cost = nil
	}
	return e
}
