package emit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// events lists the prefixes of the channels on which the library reports events. Details are added
// to the payloads of these events as members.
var events = []string{"listen:", "pipeline:", "host:"}

// detail is the information that is added to a piece of output: its time, its task and its
// exchange.
type detail struct {
	at   time.Duration // time since the start of the run
	from effect.From
}

func (s *Sink) newDetail(from *effect.From) *detail {
	d := &detail{at: time.Since(s.detail)}
	if from != nil {
		d.from = *from
	}
	return d
}

// member is a member that a detail adds to an object: a name, and a value as JSON.
type member struct{ name, value string }

// t returns the time in seconds, to the microsecond.
func (d *detail) t() member {
	return member{"t", strconv.FormatFloat(float64(d.at.Microseconds())/1e6, 'f', -1, 64)}
}

func (d *detail) task() member { return member{"task", strconv.FormatInt(d.from.Task, 10)} }

func (d *detail) exchangeMember() member {
	return member{"exchange", strconv.FormatInt(d.from.Exchange, 10)}
}

// withDetail adds the exchange, the task and the time to the payload of an event. It does not
// replace existing members, because a host's message may have members of any name.
func (d *detail) withDetail(channel string, payload json.RawMessage) json.RawMessage {
	var has map[string]json.RawMessage
	is := func(prefix string) bool { return strings.HasPrefix(channel, prefix) }
	if !slices.ContainsFunc(events, is) || json.Unmarshal(payload, &has) != nil || has == nil {
		return payload
	}
	members := []member{d.task(), d.t()}
	if d.from.Exchange != 0 {
		members = append([]member{d.exchangeMember()}, members...)
	}
	members = slices.DeleteFunc(members, func(m member) bool { return has[m.name] != nil })
	return appendMembers(bytes.Clone(payload), len(has) == 0, members)
}

// appendDetail adds the time and the task to the line in b, which contains an object.
func (d *detail) appendDetail(b []byte) []byte {
	b = appendMembers(bytes.TrimSuffix(b, []byte{'\n'}), false, []member{d.t(), d.task()})
	return append(b, '\n')
}

// appendMembers adds members to the object at the end of b. empty means that the object has no
// members yet.
func appendMembers(b []byte, empty bool, members []member) []byte {
	b = b[:len(b)-1]
	for _, m := range members {
		if !empty {
			b = append(b, ',')
		}
		empty = false
		b = append(append(append(b, '"'), m.name...), `":`...)
		b = append(b, m.value...)
	}
	return append(b, '}')
}
