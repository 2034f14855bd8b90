package vm

// The state of decisions in a snapshot.

func (k *Keeper) telling(t *task) {
	x := t.m.telling[t]
	there := x != nil
	k.Bool(&there)
	if !there {
		return
	}
	if k.reading {
		if x = t.tells(); x == nil { // decisions are no longer recorded
			x = &telling{}
		}
	}
	refer(k, entityHearing, &x.hearing)
	k.Int(&x.effect)
	k.Int(&x.since)
}

func (k *Keeper) hearingBody(h *hearing) {
	refer(k, entityHearing, &h.outer)
	k.bytes((*[]byte)(&h.asked))
	k.Int(&h.since)
	k.Bool(&h.stream)
	list(k, &h.parts, func(p *Part) {
		k.Text(&p.Type)
		k.Text(&p.Name)
		k.Int(&p.Effect)
	})
}

// checkHearings checks that no chain of decisions is a cycle.
func (k *Keeper) checkHearings() {
	const onWay, ends = 1, 2
	state := map[*hearing]int{}
	for _, e := range k.entities {
		if e.kind != entityHearing {
			continue
		}
		var way []*hearing
		h := (*hearing)(e.p)
		for ; h != nil && state[h] == 0; h = h.outer {
			state[h] = onWay
			way = append(way, h)
		}
		k.wants(h == nil || state[h] == ends, "a message is heard within itself")
		for _, x := range way {
			state[x] = ends
		}
	}
}
