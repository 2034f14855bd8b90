//go:build !js

package adapter

import (
	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

func decidedCommand(q *rpcRequest, o *ours) obj {
	p := q.approval()
	d := o.decide(q.Options, q.Args, false)
	switch {
	case !d.Allow && d.Stop:
		return obj{"decision": "cancel"}
	case !d.Allow: // "decline" is always accepted, whereas "cancel" would end the turn
		return obj{"decision": "decline"}
	case d.Scope == decision.Always && p.Network != nil:
		return obj{"decision": obj{codexAmendsNet: obj{"network_policy_amendment": p.amendment()}}}
	case d.Scope == decision.Always:
		return obj{"decision": obj{codexAmends: obj{"execpolicy_amendment": p.Amendment}}}
	}
	return obj{"decision": accepted(d)}
}

func accepted(d decision.Decision) string {
	if d.Scope == decision.Session {
		return "acceptForSession"
	}
	return "accept"
}

func decidedChange(q *rpcRequest, o *ours) obj {
	d := o.decide(q.Options, q.Args, false)
	switch {
	case d.Allow:
		return obj{"decision": accepted(d)}
	case d.Stop:
		return obj{"decision": "cancel"}
	}
	return obj{"decision": "decline"}
}

// decidedPermissions grants all requested permissions if the decision allows them, and none
// otherwise.
func decidedPermissions(q *rpcRequest, o *ours) obj {
	d := o.decide(q.Options, q.Args, false)
	if !d.Allow {
		return obj{"permissions": obj{}, "scope": "turn"}
	}
	granted := obj{}
	for _, m := range jsonobject.MembersOf(q.approval().Permissions) {
		if string(m.Value) != "null" {
			granted[m.Name] = m.Value
		}
	}
	scope := "turn"
	if d.Scope == decision.Session {
		scope = "session"
	}
	return obj{"permissions": granted, "scope": scope}
}

func decidedLegacy(q *rpcRequest, o *ours) obj {
	d := o.decide(q.Options, q.Args, false)
	switch {
	case d.Allow && d.Scope == decision.Session:
		return obj{"decision": "approved_for_session"}
	case d.Allow:
		return obj{"decision": "approved"}
	case d.Stop:
		return obj{"decision": "abort"}
	}
	return obj{"decision": obj{"denied": obj{"rejection": d.Reason}}}
}
