package vm

// Encoding of open decisions in a snapshot.

func (k *StateCodec) taskDecisions(t *task) {
	x := t.m.taskDecisions[t]
	there := x != nil
	k.Bool(&there)
	if !there {
		return
	}
	if k.reading {
		if x = t.decisionState(); x == nil { // decisions are not recorded in the resumed run
			x = &taskDecisions{}
		}
	}
	refer(k, entityDecision, &x.open)
	k.Int(&x.effect)
	k.Int(&x.since)
}

func (k *StateCodec) decisionBody(h *openDecision) {
	refer(k, entityDecision, &h.outer)
	k.bytes((*[]byte)(&h.asked))
	k.Int(&h.since)
	k.Bool(&h.stream)
	list(k, &h.parts, func(p *Part) {
		k.Text(&p.Type)
		k.Text(&p.Name)
		k.Int(&p.Effect)
	})
}

// checkDecisions checks that no chain of decisions is a cycle.
func (k *StateCodec) checkDecisions() {
	const onWay, ends = 1, 2
	state := map[*openDecision]int{}
	for _, e := range k.entities {
		if e.kind != entityDecision {
			continue
		}
		var way []*openDecision
		h := (*openDecision)(e.p)
		for ; h != nil && state[h] == 0; h = h.outer {
			state[h] = onWay
			way = append(way, h)
		}
		k.require(h == nil || state[h] == ends, "decisions form a cycle")
		for _, x := range way {
			state[x] = ends
		}
	}
}
