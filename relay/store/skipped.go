package store

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// MachineSkipped is the reason in a gap that the server writes for missing events.
const MachineSkipped = "host_skipped"

// isServerGap reports whether an event is a gap that the server has written. The missing events may
// still arrive. They are then stored for later readers.
func (e *Event) isServerGap() bool {
	return e.Type == protocol.RunGap && e.text("reason") == MachineSkipped
}

// replaceGap stores a late event in place of the gap with the same sequence number. If other events
// of the gap's range are missing, the gap is stored again with the largest missing number.
func (b *batch) replaceGap(gap, e *Event) error {
	_, err := b.tx.ExecContext(b.ctx, `UPDATE events SET from_seq = $3, ts = $4, type = $5, input_id = $6, data_json = $7, extra_json = $8, recv_at = $9 WHERE run_id = $1 AND seq = $2`,
		e.RunID, e.Seq, e.From, e.TS, e.Type, e.inputID(), string(e.Data), string(e.Extra), e.ReceivedAt)
	if err != nil {
		return b.s.wrapError("store an event", err)
	}
	for to := e.Seq - 1; to >= gap.From; to-- {
		was, err := b.stored(&Event{RunID: e.RunID, Seq: to})
		if err != nil {
			return err
		}
		if was != nil {
			continue
		}
		data, err := json.Marshal(protocol.Gap{From: gap.From, To: to, Reason: MachineSkipped})
		if err != nil {
			return err
		}
		_, err = b.tx.ExecContext(b.ctx, `INSERT INTO events (run_id, seq, from_seq, ts, type, input_id, data_json, extra_json, recv_at) VALUES ($1, $2, $3, $4, $5, '', $6, '', $7)`,
			e.RunID, to, gap.From, gap.TS, protocol.RunGap, string(data), gap.ReceivedAt)
		return b.s.wrapError("store a gap", err)
	}
	return nil
}
