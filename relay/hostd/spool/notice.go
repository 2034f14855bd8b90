package spool

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/protocol/notice"
	"github.com/concerto-lang/concerto/relay/seal"
)

// addNotice adds the bodies for push messages to the sealed form e of an event, if its type has
// them. An event without space for them in its frame has none. It also stores the title of the run.
func (d *draft) addNotice(keys *Sealing, e *seal.SealedEvent, r *row) error {
	d.st.title = titleAfter(d.st.title, r)
	text := seal.Notice{Title: notice.Title(d.st.title, d.id), TS: r.ts}
	switch r.typ {
	case protocol.RunPermissionRequested:
		text.Summary = notice.Request(r.data)
	case protocol.RunPermissionResolved:
		text.Summary = notice.Closed
	case protocol.RunExited:
		var end protocol.Exited
		if err := json.Unmarshal(r.data, &end); err != nil {
			return err
		}
		text.Summary, d.st.title = notice.End(&end.ExitCode), ""
	default:
		return nil
	}
	bodies, err := keys.Epoch.SealPush(e, keys.Browsers, text)
	if err == nil && len(e.Data.CT)+len(bodies) <= MaxData-maxMembers {
		e.Data.Push = bodies
	}
	return err
}

// maxMembers is more than the size in bytes of the data of a sealed event without ct and push.
const maxMembers = 1 << 10

// titleAfter returns the title of a run after an event. A run without a title has the name of its
// tool.
func titleAfter(title string, r *row) string {
	var d struct {
		Title string `json:"title"`
		Tool  string `json:"tool"`
	}
	if (r.typ != protocol.RunStarted && r.typ != protocol.RunMeta) || json.Unmarshal(r.data, &d) != nil {
		return title
	}
	if r.typ == protocol.RunMeta {
		return notice.Title(d.Title, title)
	}
	return notice.Title(d.Title, d.Tool)
}
