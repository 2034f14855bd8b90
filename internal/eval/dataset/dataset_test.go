package dataset

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// ticket is the type of rows with a field of each kind that CSV treats specially.
var ticket = &value.Type{Kind: value.TypeSchema, Name: "Ticket", Fields: []value.Field{
	{Name: "id", Type: &value.Type{Kind: value.TypeString}},
	{Name: "text", Type: &value.Type{Kind: value.TypeString}},
	{Name: "want", Type: &value.Type{Kind: value.TypeUnion, Values: []string{"bug", "question"}}},
	{Name: "n", Type: &value.Type{Kind: value.TypeOption, Args: []*value.Type{{Kind: value.TypeInt}}}},
	{Name: "tags", Optional: true, Type: &value.Type{Kind: value.TypeOption, Args: []*value.Type{{Kind: value.TypeArray, Args: []*value.Type{{Kind: value.TypeString}}}}}},
	{Name: "weight", Optional: true, Type: &value.Type{Kind: value.TypeFloat}},
	{Name: "open", Optional: true, Type: &value.Type{Kind: value.TypeBool}},
}}

var numbers = &value.Type{Kind: value.TypeInt}

func TestErrors(t *testing.T) {
	many := strings.Repeat("{}\n", 31)
	var twenty []string
	for i := range 20 {
		twenty = append(twenty, fmt.Sprintf(`t.jsonl:%d: missing field "id" (String); missing field "text" (String); missing field "want" ("bug" | "question")`, i+1))
	}
	many10 := `{"id":"a"`
	for i := range 10_000 {
		many10 += fmt.Sprintf(`,"x%d":1`, i)
	}
	many10 += "}"
	wide := strings.Repeat("x,", 9_999) + "x"
	tests := []struct {
		name, file, text string
		row              *value.Type
		want             string
	}{
		{"missing field", "t.jsonl", `{"id":"a","text":"x","want":"bug"}` + "\n\n" + `{"id":"b","text":"y"}`, ticket, `t.jsonl:3: missing field "want" ("bug" | "question")`},
		{"unknown field", "t.jsonl", `{"id":"a","text":"x","wnat":"bug","want":"bug"}`, ticket, `t.jsonl:1: unknown field "wnat": did you mean "want"?`},
		{"wrong type", "t.jsonl", `{"id":"a","text":1,"want":"bug"}`, ticket, `t.jsonl:1: text: expected String, got 1`},
		{"invalid JSON", "t.jsonl", "1\n{", numbers, `t.jsonl:2: not valid JSON: unexpected end of the text at offset 1`},
		{"duplicate id", "t.jsonl", "1\r\n2\r\n1\r\n", numbers, `t.jsonl:3: duplicate id "6b86b273ff34" (first on line 1)`},
		{"empty", "t.jsonl", "\ufeff\n \n", numbers, `t.jsonl: the dataset is empty`},
		{"encoding", "t.jsonl", "1\n\xff\n", numbers, `t.jsonl:2: the text is not UTF-8`},
		{"twenty", "t.jsonl", many, ticket, strings.Join(twenty, "\n") + "\nand 11 more invalid rows"},
		{"CSV cells", "t.csv", "id,text,want\na,\"x\ny\",bug\nb,z\n", ticket, `t.csv:4: the record has 2 cells, and the first line 3`},
		{"CSV columns", "t.csv", "id,text,wnt,id\n", ticket, "t.csv:1: unknown field \"wnt\": did you mean \"want\"?; the field \"id\" has two columns"},
		{"CSV quotes", "t.csv", "id,text,want\na,\"x,bug\n", ticket, `t.csv:2: not valid CSV: a quoted field is not closed in column 3`},
		{"CSV number", "t.csv", "id,text,want,n\na,x,bug,many\n", ticket, `t.csv:2: n: expected Int, got "many"`},
		{"CSV choice", "t.csv", "id,text,want\na,x,bugs\n", ticket, `t.csv:2: want: expected one of "bug" | "question", got "bugs"`},
		{"CSV without fields", "t.csv", "n\n1\n", numbers, `t.csv: a row of a CSV file needs a struct or a schema, but the eval's rows are of type Int: use a .jsonl file`},
		{"CSV of one line", "t.csv", "id,text,want\n", ticket, `t.csv: the dataset is empty`},
		{"many CSV columns", "t.csv", "id,text,want," + wide + "\n", ticket, `t.csv:1: unknown field "x"; unknown field "x"; unknown field "x"; unknown field "x"; unknown field "x"; and 9995 more`},
		{"many fields", "t.jsonl", many10, ticket, `t.jsonl:1: unknown field "x0"; unknown field "x1"; unknown field "x2"; unknown field "x3"; unknown field "x4"; and 9997 more`},
		{"wide CSV", "t.csv", "id,text,want\n" + wide + "\n", ticket, `t.csv:2: the record has 10000 cells, and the first line 3`},
	}
	for _, test := range tests {
		_, err := Read(test.file, []byte(test.text), test.row, "", 0)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestIDs checks that ids are data: they may contain anything, and inserting a row changes no
// other.
func TestIDs(t *testing.T) {
	odd := []string{"..", "a/b", "a\nb", strings.Repeat("é", 300), "", "A", "a"}
	var text bytes.Buffer
	for _, id := range odd {
		line, _ := json.Marshal(map[string]string{"id": id, "text": "x", "want": "bug"})
		text.Write(append(line, '\n'))
	}
	d, err := Read("t.jsonl", text.Bytes(), ticket, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range d.Cases {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff(odd, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	ids := func(text string) map[string]string {
		d, err := Read("t.jsonl", []byte(text), numbers, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, c := range d.Cases {
			out[string(c.Row)] = c.ID
		}
		return out
	}
	before, after := ids("1\n2\n3"), ids("1\n7\n2\n3")
	delete(after, "7")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("ids after inserting a row (-before +after):\n%s", diff)
	}
	withInt := &value.Type{Kind: value.TypeStruct, Fields: []value.Field{{Name: "id", Type: numbers}}}
	if d, err := Read("t.jsonl", []byte(`{"id":7}`), withInt, "", 0); err != nil || d.Cases[0].ID != "7" {
		t.Errorf("Int as id: %v, %v", d, err)
	}
}

// TestFormatsAgree writes random rows as JSON lines and as CSV. Both must have the same cases.
func TestFormatsAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var lines, table bytes.Buffer
		w := csv.NewWriter(&table)
		names := []string{"id", "text", "want", "n", "tags", "weight", "open"}
		w.Write(names)
		for i := range 1 + random.IntN(5) {
			row := map[string]any{"id": fmt.Sprint(i), "text": randomText(random), "want": []string{"bug", "question"}[random.IntN(2)]}
			cells := []string{row["id"].(string), row["text"].(string), row["want"].(string), "", "", "", ""}
			for j, v := range map[int]any{3: random.IntN(100), 4: []string{randomText(random)}, 5: 0.5, 6: true} {
				if random.IntN(2) == 0 {
					text, _ := json.Marshal(v)
					row[names[j]], cells[j] = v, string(text)
				}
			}
			line, _ := json.Marshal(row)
			lines.Write(append(line, '\n'))
			w.Write(cells)
		}
		w.Flush()
		a, err := Read("t.jsonl", lines.Bytes(), ticket, "", 0)
		b, err2 := Read("t.csv", table.Bytes(), ticket, "", 0)
		if err != nil || err2 != nil {
			t.Fatalf("%v, %v\n%s\n%s", err, err2, &lines, &table)
		}
		for i := range a.Cases {
			a.Cases[i].Line, b.Cases[i].Line = 0, 0
		}
		if diff := cmp.Diff(a.Cases, b.Cases); diff != "" {
			t.Fatalf("cases (-JSON +CSV):\n%s\n%s", diff, &table)
		}
	}
}

func randomText(random *rand.Rand) string {
	b := []rune("x")
	for range random.IntN(6) {
		b = append(b, []rune("a,\"\né '")[random.IntN(7)])
	}
	return string(b)
}

func TestSelect(t *testing.T) {
	var cases []Case
	for i := range 100 {
		cases = append(cases, Case{Line: i})
	}
	a, b, c := Select(cases, 10, 1), Select(cases, 10, 1), Select(cases, 10, 2)
	if diff := cmp.Diff(a, b); diff != "" || len(a) != 10 {
		t.Errorf("%d cases; two selections with one seed differ:\n%s", len(a), diff)
	}
	if cmp.Equal(a, c) {
		t.Error("selections with different seeds are equal")
	}
	for i := 1; i < len(a); i++ {
		if a[i].Line <= a[i-1].Line {
			t.Errorf("case %d is out of order", i)
		}
	}
	if n := len(Select(cases, 1000, 1)); n != 100 {
		t.Errorf("%d of 100 cases", n)
	}
}

func TestLimit(t *testing.T) {
	if d, err := Read("t.jsonl", []byte("1\n2\n{"), numbers, "", 2); err != nil || len(d.Cases) != 2 {
		t.Errorf("%v, %v", d, err)
	}
}

// FuzzRead checks that reading a dataset returns cases or errors with places, and that a dataset
// that was read can be written and read again.
func FuzzRead(f *testing.F) {
	f.Add("id,text,want\na,b,bug\n", true)
	f.Add(`{"id":"a","text":"b","want":"bug","tags":["x"]}`+"\n", false)
	f.Fuzz(func(t *testing.T, text string, isCSV bool) {
		file := "t.jsonl"
		if isCSV {
			file = "t.csv"
		}
		d, err := Read(file, []byte(text), ticket, "", 0)
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || len(e.Rows) == 0 || len(e.Rows) > maxShown {
				t.Fatalf("error %v", err)
			}
			return
		}
		var lines bytes.Buffer
		for _, c := range d.Cases {
			lines.Write(append(c.Row, '\n'))
		}
		again, err := Read("t.jsonl", lines.Bytes(), ticket, "", 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, &lines)
		}
		for i := range d.Cases {
			if d.Cases[i].ID != again.Cases[i].ID || d.Cases[i].Hash != again.Cases[i].Hash {
				t.Fatalf("case %d is %v, and after writing it %v", i, d.Cases[i], again.Cases[i])
			}
		}
	})
}

// BenchmarkRead reads 100,000 rows.
func BenchmarkRead(b *testing.B) {
	var lines bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&lines, `{"id":"t%d","text":"The export of report %d fails with an error","want":"bug","n":%d}`+"\n", i, i, i)
	}
	for b.Loop() {
		if _, err := Read("t.jsonl", lines.Bytes(), ticket, "", 0); err != nil {
			b.Fatal(err)
		}
	}
}
