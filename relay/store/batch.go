package store

import (
	"strconv"
	"strings"
)

// The statements that run for each event of a batch. The data that they need is read for the whole
// batch at once.
const (
	insertEvent = `INSERT INTO events (run_id, seq, from_seq, ts, type, input_id, data_json, extra_json, recv_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	insertRun   = `INSERT INTO runs (` + runColumns + `, made, changed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, {stamp}, {stamp})`
	updateRun   = `UPDATE runs SET host_id = $2, tool = $3, cwd = $4, command = $5, title = $6, status = $7, waits = $8, meta_json = $9, started_at = $10,
		last_active_at = $11, ended_at = $12, exit_code = $13, prefix_seq = $14, last_seq = $15, sealed = $16, epoch = $17, changed = {stamp} WHERE id = $1`
)

// read reads what a batch needs: the generations of its machines, its runs and their requests. It
// locks the machines first and then the runs, each in the order of their ids, so that servers do
// not deadlock.
func (b *batch) read(all []Incoming) error {
	var machines, runs []any
	seen := map[string]bool{}
	for i := range all {
		if id := all[i].MachineID; !seen["h"+id] {
			seen["h"+id] = true
			machines = append(machines, id)
		}
		if id := all[i].Envelope.RunID; !seen["r"+id] {
			seen["r"+id] = true
			runs = append(runs, id)
		}
	}
	err := b.rows("read machines", `SELECT id, gen FROM hosts WHERE id IN (`+placeholders(len(machines))+`) ORDER BY id`+b.s.dialect.Lock, machines, func(r row) error {
		var id string
		var gen int64
		err := r.Scan(&id, &gen)
		b.gens[id] = gen
		return err
	})
	if err != nil {
		return err
	}
	err = b.rows("read runs", `SELECT `+runColumns+` FROM runs WHERE id IN (`+placeholders(len(runs))+`) ORDER BY id`+b.s.dialect.Lock, runs, func(r row) error {
		run, err := scanRun(r)
		if err == nil {
			b.runs[run.ID] = &openRun{Run: *run, requests: map[string]bool{}}
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.rows("read requests", `SELECT run_id, request_id FROM requests WHERE run_id IN (`+placeholders(len(runs))+`) AND state IN ('open', 'decided')`, runs, func(r row) error {
		var run, request string
		err := r.Scan(&run, &request)
		if of := b.runs[run]; err == nil && of != nil {
			of.requests[request] = true
		}
		return err
	})
}

// rows calls each for each row of a query in the batch's transaction.
func (b *batch) rows(doing, text string, args []any, each func(row) error) error {
	rows, err := b.tx.QueryContext(b.ctx, text, args...)
	if err != nil {
		return b.s.wrapError(doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return b.s.wrapError(doing, err)
		}
	}
	return b.s.wrapError(doing, rows.Err())
}

// placeholders returns n placeholders, separated by commas: $1, $2, …
func placeholders(n int) string {
	var t strings.Builder
	for i := range n {
		if i > 0 {
			t.WriteString(", ")
		}
		t.WriteString("$" + strconv.Itoa(i+1))
	}
	return t.String()
}
