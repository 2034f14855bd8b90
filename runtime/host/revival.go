package host

import (
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// revival is an exchange that a new process of its host goes on with. What the lost one had asked, and was not
// answered, the program still deals with: when the new one asks the same again the program does not hear of it, and its
// answer goes to the new request. Safe for concurrent use.
type revival struct {
	note revivalNote
	told adapter.Resumption

	mu    sync.Mutex
	asked []*askedAgain
}

// predecessor names the exchange by how it was opened.
type predecessor struct {
	Process int64 `json:"process"`
	Turn    int64 `json:"turn"`
}

// revivalNote is what the keeper remembers of it, for whoever goes on with the run.
type revivalNote struct {
	predecessor
	Replies int      `json:"replies"`        // that the program had given before
	Last    string   `json:"last,omitempty"` // the sum of the newest one's line
	Asked   []wanted `json:"asked,omitempty"`
}

type askedAgain struct {
	wanted
	again bool                  // the new process has asked it,
	as    string                // with this id
	reply *effect.ExchangeReply // of the program, that waits for that; nil: none
	done  bool                  // it is answered, or asked no more
}

// revive begins a revival.
func (c *Course) revive() *revival {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := revivalNote{predecessor{c.opened.Process, c.opened.Turn}, c.replies, c.last, slices.Clone(c.asked)}
	v := newRevival(n)
	v.told = c.answered
	return v
}

func newRevival(n revivalNote) *revival {
	v := &revival{note: n}
	for _, w := range n.Asked {
		v.asked = append(v.asked, &askedAgain{wanted: w})
	}
	return v
}

// heard takes a message of the new process's, and says whether the program hears of it: not of what it knows.
// reply is one that has waited for that; gone are ids of what the lost process had asked and this one will not.
func (v *revival) heard(m *effect.HostMessage) (known bool, reply *effect.ExchangeReply, gone []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch row := hostmsg.Of(m.Type); {
	case row.Waits():
		now := wantedBy(m)
		for _, a := range v.asked {
			if a.again || a.done || a.Type != now.Type || a.Sum != now.Sum {
				continue
			}
			a.again, a.as = true, m.ID
			a.done = a.reply != nil
			return true, a.reply, nil
		}
		return false, nil, v.forgo(func(a *askedAgain) bool { return a.ID == m.ID && !a.again })
	case row.Role == hostmsg.TakesBack:
		for _, a := range v.asked {
			if a.again && !a.done && a.as == m.ID {
				a.done = true
				return true, nil, []string{a.ID}
			}
		}
	case row.Terminal():
		return false, nil, v.forgo(func(*askedAgain) bool { return true })
	}
	return false, nil, nil
}

// forgo takes back what fits and is not answered.
func (v *revival) forgo(fits func(*askedAgain) bool) (gone []string) {
	for _, a := range v.asked {
		if !a.done && fits(a) {
			if a.done = true; a.reply == nil {
				gone = append(gone, a.ID)
			}
		}
	}
	return gone
}

// route gives the id to which a reply is said to the new process; held: it waits until that asks for it.
func (v *revival) route(r *effect.ExchangeReply) (to string, held bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.asked, func(a *askedAgain) bool {
		return !a.done && a.reply == nil && a.ID == r.AnswerTo && a.Type == r.InReplyTo
	})
	if at < 0 {
		return r.AnswerTo, false
	}
	a := v.asked[at]
	if !a.again {
		a.reply = r
		return "", true
	}
	return a.as, false
}

// sent takes note that a reply was said.
func (v *revival) sent(r *effect.ExchangeReply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, a := range v.asked {
		if !a.done && a.again && a.ID == r.AnswerTo && a.Type == r.InReplyTo {
			a.done = true
			return
		}
	}
}

// reheard gives what a process says that goes on with an exchange to the one before it; known: it is none of the
// program's. What that does not hear of any more is taken back before the message.
func (r *reader) reheard(t *turn, m **effect.HostMessage) (known bool, err error) {
	known, reply, gone := t.again.heard(*m)
	if reply != nil {
		if !r.p.sendReply(reply, (*m).ID) {
			return known, errDeaf
		}
	}
	if len(gone) == 0 {
		return known, nil
	}
	held := **m
	for _, id := range gone {
		if id == "" {
			continue // it cannot be taken back
		}
		o := jsonobject.New("withdraw")
		o.Raw("id", []byte(id))
		if err := decode(r.b.room(), o.End(), nil); err != nil {
			panic("host: what is taken back does not parse: " + err.Error())
		}
		r.b.keep()
	}
	*m = r.b.room()
	**m = held
	return known, nil
}

// sendReply says the program's reply in the words of who has asked again, by its id.
func (p *process) sendReply(r *effect.ExchangeReply, to string) (ok bool) {
	was := line{short: appendReply(nil, r)}
	if p.kept.repeated(&was) {
		return true
	}
	now := *r
	now.AnswerTo = to
	_, ok = p.sendLine(line{short: appendReply(nil, &now), frame: framing{kind: keeper.KindSay, note: &lineNote{Sum: was.sum()}}}, false)
	return ok
}

// rematch has a message that is in the journal compared with what was asked before; the program has heard of it.
func (t *turn) rematch(text []byte) {
	var m effect.HostMessage
	if t.again != nil && decode(&m, text, nil) == nil {
		t.again.heard(&m)
	}
}
