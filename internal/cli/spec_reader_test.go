package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// otherReader is an independent reader of a stored run. It follows spec/journal.md and shares no
// code with the project.
type otherReader struct {
	records []map[string]json.RawMessage
	torn    int    // number of incomplete bytes at the end that are ignored
	damage  string // position of the damage: "FILE:LINE", a file, or a row; "" if there is none
	none    bool   // the directory or the tables contain no record
	last    int    // number of the last record
}

const startHash = "00000000000000000000000000000000"

func readOther(t *testing.T, dir string) *otherReader {
	t.Helper()
	r := &otherReader{}
	names, err := filepath.Glob(filepath.Join(dir, "journal-[0-9][0-9][0-9][0-9][0-9][0-9].ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	before := startHash
	for i, name := range names {
		if want := fmt.Sprintf("journal-%06d.ndjson", i+1); filepath.Base(name) != want {
			r.damage = want
			return r
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if before = r.file(filepath.Base(name), text, before, i == len(names)-1); r.damage != "" {
			return r
		}
	}
	r.none = len(r.records) == 0
	for _, x := range r.records {
		if sum := member(x, "blob"); sum != "" {
			text, err := os.ReadFile(filepath.Join(dir, "blobs", sum))
			if err != nil || sumOf(text) != sum {
				r.damage = "blobs/" + sum
			}
		}
	}
	return r
}

// file reads a file of the journal. before is the hash of the preceding record. It returns the hash
// of the file's last record.
func (r *otherReader) file(name string, text []byte, before string, last bool) string {
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		hash, ok := "", whole
		if ok {
			hash, ok = r.add(line, before)
		}
		if !ok {
			if last && tornAt(line, rest) {
				r.torn = len(text)
			} else {
				r.damage = fmt.Sprintf("%s:%d", name, n)
			}
			return before
		}
		before, text = hash, rest
	}
	return before
}

// add verifies the line of the next record and adds the record. before is the hash of the preceding
// record.
func (r *otherReader) add(line []byte, before string) (hash string, ok bool) {
	x, hash := readLine(line, before)
	if x == nil || member(x, "s") != fmt.Sprint(r.last+1) || r.last == 0 && member(x, "k") != "start" {
		return "", false
	}
	r.records = append(r.records, x)
	r.last++
	return hash, true
}

// readLine decodes a record. It returns nil if the record's hash is not the hash of before and the
// record.
func readLine(line []byte, before string) (x map[string]json.RawMessage, hash string) {
	open, stated := statedOf(line)
	sum := sha256.Sum256(append([]byte(before), open...))
	hash = hex.EncodeToString(sum[:16])
	if hash != stated || len(line) != len(open)+len(`,"h":"`+startHash+`"}`) || json.Unmarshal(line, &x) != nil {
		return nil, ""
	}
	return x, hash
}

// statedOf returns the bytes of a line up to its hash, and the hash.
func statedOf(line []byte) (open []byte, hash string) {
	at := bytes.LastIndex(line, []byte(`,"h":"`))
	if at < 0 {
		return nil, ""
	}
	hash, _, _ = strings.Cut(string(line[at+len(`,"h":"`):]), `"`)
	return line[:at], hash
}

// tornAt reports whether the data from the record bad on may be ignored as an incomplete write: no
// later record has the right hash, or none of those is marked as synced (field y).
func tornAt(bad, rest []byte) bool {
	_, before := statedOf(bad)
	follows, synced := false, false
	for line := range bytes.SplitSeq(rest, []byte("\n")) {
		if x, _ := readLine(line, before); x != nil {
			follows, synced = true, synced || member(x, "y") == "true"
		}
		_, before = statedOf(line)
	}
	return !follows || !synced
}

// member returns a field of a record as text. A string has no quotes.
func member(x map[string]json.RawMessage, name string) string {
	var s string
	if json.Unmarshal(x[name], &s) == nil {
		return s
	}
	return string(x[name])
}

// sumOf returns the SHA-256 of some bytes in hex.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// tables contains the rows of one run in the tables of an engine, each table in the order of its
// key. PostgreSQL has encoded them as JSON.
type tables struct {
	Run struct {
		IR          string
		Adopted     []string
		State       string
		Exit        *int
		Owner       *string
		Epoch       int
		S           int
		H           string
		OutputCount int `json:"output_count"`
	}
	Journal []struct {
		S, Epoch int
		Line     string
	}
	Output, Ledger []struct {
		N    int
		Line string
	}
	Blobs     []struct{ SHA256, Data string }
	Programs  []struct{ SHA256, Data string }
	Questions []struct {
		ID, Channel, Payload, Type string
		Schema                     *string
	}
	Answers []struct{ ID string }
}

// selectTables is a query for the rows of a run. %s is the id of the run.
const selectTables = `SET search_path = concerto; WITH r AS (SELECT * FROM runs WHERE id = '%s') SELECT json_build_object(
	'run', (SELECT row_to_json(r) FROM r),
	'journal', (SELECT json_agg(x ORDER BY x.s) FROM journal x JOIN r ON x.run = r.id),
	'output', (SELECT json_agg(x ORDER BY x.n) FROM output x JOIN r ON x.run = r.id),
	'ledger', (SELECT json_agg(x ORDER BY x.n) FROM ledger x JOIN r ON x.run = r.id),
	'blobs', (SELECT json_agg(x) FROM blobs x JOIN r ON x.run = r.id),
	'programs', (SELECT json_agg(x) FROM programs x JOIN r ON x.sha256 = r.ir OR x.sha256 = ANY(r.adopted)),
	'questions', (SELECT json_agg(x) FROM questions x JOIN r ON x.run = r.id),
	'answers', (SELECT json_agg(x) FROM answers x JOIN r ON x.run = r.id))`

// bytesOf decodes a value of type bytea.
func bytesOf(text string) []byte {
	digits, ok := strings.CutPrefix(text, `\x`)
	data, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return nil
	}
	return data
}

// readTables reads a run from its rows, in JSON.
func readTables(t *testing.T, rows string) *otherReader {
	t.Helper()
	var x tables
	if err := json.Unmarshal([]byte(rows), &x); err != nil {
		t.Fatalf("%v: %s", err, rows)
	}
	r := &otherReader{}
	for _, check := range []func(*tables) string{r.checkRecords, r.checkEpochs, r.checkOutput, r.checkBlobs, r.checkQuestions, r.checkEnd} {
		if r.damage = check(&x); r.damage != "" {
			break
		}
	}
	r.none = len(r.records) == 0
	return r
}

// checkRecords verifies the chain of records, and that its end is the one in the row of
// the run.
func (r *otherReader) checkRecords(x *tables) string {
	before, at := startHash, 0
	for _, row := range x.Journal {
		if row.S != r.last+1 {
			return fmt.Sprintf("journal %d", r.last+1)
		}
		hash, ok := r.add([]byte(row.Line), before)
		if !ok {
			return fmt.Sprintf("journal %d", row.S)
		}
		before = hash
		t := number(r.records[row.S-1], "t")
		if t < at {
			return fmt.Sprintf("journal %d: t", row.S)
		}
		at = t
	}
	switch {
	case x.Run.S != r.last:
		return "runs.s"
	case x.Run.H != before:
		return "runs.h"
	}
	return ""
}

// checkEpochs checks that each owner of the run has written its records after those of the previous
// owner, and that the owners have begun with a record that an owner begins with.
func (r *otherReader) checkEpochs(x *tables) string {
	epoch := 0
	for i, row := range x.Journal {
		k := member(r.records[i], "k")
		begins := slices.Contains([]string{"start", "resume", "stop", "adopt"}, k)
		if row.Epoch < epoch || row.Epoch > epoch && !begins || row.Epoch == epoch && (k == "start" || k == "resume") || row.Epoch < number(r.records[i], "n") && k == "resume" {
			return fmt.Sprintf("journal %d: epoch", row.S)
		}
		epoch = row.Epoch
	}
	if x.Run.Epoch < epoch {
		return "runs.epoch"
	}
	return ""
}

// checkOutput checks the numbers of the lines of output and of the ledger.
func (r *otherReader) checkOutput(x *tables) string {
	for i, row := range x.Output {
		var line struct{ N int }
		if err := json.Unmarshal([]byte(row.Line), &line); err != nil || row.N != i+1 || line.N != row.N {
			return fmt.Sprintf("output %d", i+1)
		}
	}
	for i, row := range x.Ledger {
		if row.N != i+1 || !json.Valid([]byte(row.Line)) {
			return fmt.Sprintf("ledger %d", i+1)
		}
	}
	if x.Run.OutputCount != len(x.Output) {
		return "runs.output_count"
	}
	for i, record := range r.records {
		if member(record, "k") == "out" && number(record, "n") > len(x.Output) {
			return fmt.Sprintf("journal %d: n", i+1)
		}
	}
	return ""
}

// checkBlobs checks the hashes of large values and programs, and that those exist that the records
// name.
func (r *otherReader) checkBlobs(x *tables) string {
	stored := map[string]bool{}
	for _, b := range x.Blobs {
		if stored["blob "+b.SHA256] = true; sumOf(bytesOf(b.Data)) != b.SHA256 {
			return "blobs " + b.SHA256
		}
	}
	for _, p := range x.Programs {
		if stored["program "+p.SHA256] = true; sumOf(bytesOf(p.Data)) != p.SHA256 {
			return "programs " + p.SHA256
		}
	}
	programs := append([]string{x.Run.IR}, x.Run.Adopted...)
	for _, record := range r.records {
		if sum := member(record, "blob"); sum != "" && !stored["blob "+sum] {
			return "blobs " + sum
		}
		sum := ""
		switch member(record, "k") {
		case "start":
			sum = member(record, "ir")
		case "adopt":
			sum = member(record, "d")
		default:
			continue
		}
		if !slices.Contains(programs, sum) || !stored["program "+sum] {
			return "programs " + sum
		}
	}
	return ""
}

// checkQuestions compares the stored questions with those that are open according to the records.
// Each stored answer must answer one of them. A question about an effect whose outcome is unknown
// is in the records only when the run waits for it.
func (r *otherReader) checkQuestions(x *tables) string {
	open, waits := map[string]map[string]json.RawMessage{}, map[string]bool{}
	begun := map[string]bool{}
	for _, record := range r.records {
		e := member(record, "e")
		clear(waits)
		switch member(record, "k") {
		case "begin":
			begun[e] = true
			if member(record, "c") == "waits" && record["due"] == nil {
				open["q"+e] = record
			}
		case "end":
			delete(open, "q"+e)
			delete(begun, e)
		case "finish":
			clear(open)
			clear(begun)
		case "park":
			var all []struct {
				E  int
				ID string
			}
			if err := json.Unmarshal(record["waits"], &all); err != nil {
				return "journal: waits"
			}
			for _, w := range all {
				if w.ID != "" {
					waits[w.ID] = true
				}
			}
		}
	}
	stored := map[string]bool{}
	for _, q := range x.Questions {
		stored[q.ID] = true
		begin := open[q.ID]
		kind := member(begin, "type")
		if begin["type"] == nil {
			kind = "any"
		}
		switch {
		case begin == nil && !(strings.HasPrefix(q.ID, "u") && begun[q.ID[1:]] && q.Channel == "run:unknown"):
			return "questions " + q.ID
		case begin != nil && (text(begin["schema"]) != textOf(q.Schema) || kind != q.Type):
			return "questions " + q.ID
		}
	}
	for id := range open {
		if !stored[id] {
			return "questions " + id
		}
	}
	for id := range waits {
		if !stored[id] {
			return "questions " + id
		}
	}
	for _, a := range x.Answers {
		if !stored[a.ID] {
			return "answers " + a.ID
		}
	}
	return ""
}

// text returns a JSON value without insignificant white space, or "" if there is none.
func text(value []byte) string {
	var b bytes.Buffer
	if len(value) == 0 || json.Compact(&b, value) != nil {
		return ""
	}
	return b.String()
}

func textOf(value *string) string {
	if value == nil {
		return ""
	}
	return text([]byte(*value))
}

// outSum returns the sum of the first n lines of output.
func outSum(x *tables, n int) []byte {
	sum := make([]byte, sha256.Size)
	for _, row := range x.Output[:n] {
		next := sha256.Sum256(append(sum, row.Line...))
		sum = next[:]
	}
	return sum
}

// checkEnd compares the state of the run with its last record.
func (r *otherReader) checkEnd(x *tables) string {
	if r.last == 0 {
		return ""
	}
	last := r.records[r.last-1]
	ended := member(last, "k") == "finish"
	switch {
	case ended != (x.Run.State == "finished" || x.Run.State == "failed"), ended != (x.Run.Exit != nil), ended && x.Run.Owner != nil:
		return "runs.state"
	case !ended:
		return ""
	case number(last, "code") != *x.Run.Exit || (*x.Run.Exit == 0) != (x.Run.State == "finished"):
		return "runs.exit"
	case last["d"] == nil && r.last > 1 && member(r.records[r.last-2], "k") == "stop": // no process has executed its end
	case number(last, "n") != len(x.Output) || member(last, "d") != hex.EncodeToString(outSum(x, len(x.Output))[:16]):
		return "output"
	}
	return ""
}

// number returns a member of a record as a number, or 0.
func number(x map[string]json.RawMessage, name string) (n int) {
	_ = json.Unmarshal(x[name], &n)
	return n
}
