package vm

// asks are the messages that were given to the program and may be answered, in their
// order. A host may send as many as it likes, and the program leave them: none of the methods
// looks through all of them.
type asks struct {
	all  []*ask            // with some that are settled
	live int               // how many are not
	byID map[string][]*ask // the same, but those without an id
}

func (l *asks) add(k *ask) {
	l.all = append(l.all, k)
	l.live++
	if k.id == "" {
		return
	}
	if l.byID == nil {
		l.byID = map[string][]*ask{}
	}
	l.byID[k.id] = append(l.byID[k.id], k)
}

// find gives the first with an id that is not settled; nil when there is none.
func (l *asks) find(id string) *ask {
	same := l.byID[id]
	for len(same) > 0 && same[0].answered != "" {
		same = same[1:]
	}
	if len(same) == 0 {
		delete(l.byID, id)
		return nil
	}
	l.byID[id] = same
	return same[0]
}

// fewAsks are so few that those which are settled need not be taken out.
const fewAsks = 32

// settled hears that one is. Once most are, they are taken out.
func (l *asks) settled() {
	if l.live--; len(l.all) < fewAsks || l.live > len(l.all)/2 {
		return
	}
	kept := asks{all: make([]*ask, 0, l.live)}
	for _, k := range l.open() {
		kept.add(k)
	}
	*l = kept
}

// open are those that are not settled.
func (l *asks) open() []*ask {
	out := make([]*ask, 0, l.live)
	for _, k := range l.all {
		if k.answered == "" {
			out = append(out, k)
		}
	}
	return out
}
