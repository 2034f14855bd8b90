package store

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// HostSkipped is why the server itself writes a gap: the host did not.
const HostSkipped = "host_skipped"

// skipped says whether an event is a gap that the server wrote. What it stands for may come after
// all, and is stored for later readers.
func (e *Event) skipped() bool {
	return e.Type == protocol.RunGap && e.text("reason") == HostSkipped
}

// cameAfterAll stores an event in the place of the gap that has its seq. The gap goes to the greatest
// seq before it of which there is no event yet, if there is one.
func (b *batch) cameAfterAll(gap, e *Event) error {
	_, err := b.tx.ExecContext(b.ctx, `UPDATE events SET from_seq = $3, ts = $4, type = $5, input_id = $6, data_json = $7, extra_json = $8, recv_at = $9 WHERE run_id = $1 AND seq = $2`,
		e.RunID, e.Seq, e.From, e.TS, e.Type, e.inputID(), string(e.Data), string(e.Extra), e.ReceivedAt)
	if err != nil {
		return b.s.told("store an event", err)
	}
	for to := e.Seq - 1; to >= gap.From; to-- {
		was, err := b.stored(&Event{RunID: e.RunID, Seq: to})
		if err != nil {
			return err
		}
		if was != nil {
			continue
		}
		data, err := json.Marshal(protocol.Gap{From: gap.From, To: to, Reason: HostSkipped})
		if err != nil {
			return err
		}
		_, err = b.tx.ExecContext(b.ctx, `INSERT INTO events (run_id, seq, from_seq, ts, type, input_id, data_json, extra_json, recv_at) VALUES ($1, $2, $3, $4, $5, '', $6, '', $7)`,
			e.RunID, to, gap.From, gap.TS, protocol.RunGap, string(data), gap.ReceivedAt)
		return b.s.told("store a gap", err)
	}
	return nil
}
