package csvtext

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

func readAll(text string, comma rune) (rows [][]string, lines []int, err error) {
	r := NewReader(text, comma)
	for {
		row, line, err := r.Read()
		if err == io.EOF {
			return rows, lines, nil
		}
		if err != nil {
			return rows, lines, err
		}
		rows, lines = append(rows, append([]string(nil), row...)), append(lines, line)
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string][][]string{
		"a,b\r1,2\r":                {{"a", "b"}, {"1", "2"}},
		"a,b\r\n1,2\r\n":            {{"a", "b"}, {"1", "2"}},
		"a,b\n\n1,2":                {{"a", "b"}, {"1", "2"}},
		"\"a\r\nb\",\"c\rd\"\r\n":   {{"a\r\nb", "c\rd"}},
		"\ufeff\"x\"\"y\",,\n":      {{`x"y`, "", ""}},
		"\"\"\n":                    {{""}},
		" a , \"b\" \n":             nil,
		"\"a\"b\n":                  nil,
		"\"a":                       nil,
		"\"a\nb\"\"\",\n\"c\"\n":    {{"a\nb\"", ""}, {"c"}},
		"\ufeff\"\ufeffa\"\r\n\r\r": {{"\ufeffa"}},
	} {
		got, _, err := readAll(text, ',')
		if (err != nil) != (want == nil) || want != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q (error %v), want %q", text, got, err, want)
		}
	}
}

func TestErrorPlaces(t *testing.T) {
	for text, want := range map[string]Error{
		"a\n\"b\nc":       {2, 1, "a quoted field is not closed"},
		"a\r\"b\rc\"d":    {3, 3, "text follows the closing quote of a field"},
		"a\r\nb,c\"d\"\n": {2, 4, "a quote in a field that is not quoted"},
	} {
		if _, _, err := readAll(text, ','); err == nil || *err.(*Error) != want {
			t.Errorf("%q: error %+v, want %+v", text, err, want)
		}
	}
}

// randomRows returns rows and a separator.
func randomRows(seed uint64) (rows [][]string, comma rune) {
	r := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"a", "é", "\"", ",", ";", "\n", "\r", "\r\n", " ", "\ufeff", `\.`, "''", "0", "\x00", "="}
	rows = make([][]string, 1+r.IntN(4))
	for i := range rows {
		rows[i] = make([]string, 1+r.IntN(4))
		for j := range rows[i] {
			for range r.IntN(5) {
				rows[i][j] += pieces[r.IntN(len(pieces))]
			}
		}
	}
	return rows, []rune{',', ';', '\t', '→'}[r.IntN(4)]
}

// TestRoundTrip checks that written rows are read as they were, and that encoding/csv agrees about
// texts whose line ends it does not change.
func TestRoundTrip(t *testing.T) {
	show := func(seed uint64) string {
		rows, comma := randomRows(seed)
		return fmt.Sprintf("%q %q", comma, rows)
	}
	randtest.Run(t, "stdlib/csvtext", 2000, show, func(t *testing.T, seed uint64) {
		rows, comma := randomRows(seed)
		var text []byte
		for _, row := range rows {
			text = AppendRow(text, row, comma)
		}
		got, _, err := readAll(string(text), comma)
		if err != nil || !reflect.DeepEqual(got, rows) {
			t.Fatalf("%q is read as %q (error %v), want %q", text, got, err, rows)
		}
		if strings.Contains(string(text), "\r") || strings.HasPrefix(string(text), "\ufeff") {
			return
		}
		other := csv.NewReader(strings.NewReader(string(text)))
		other.Comma, other.FieldsPerRecord = comma, -1
		if theirs, err := other.ReadAll(); err != nil || !reflect.DeepEqual(theirs, rows) {
			t.Fatalf("encoding/csv reads %q as %q (error %v), want %q", text, theirs, err, rows)
		}
	})
}

// FuzzRead checks that every text is read to its end, and that what was read can be written and
// read again.
func FuzzRead(f *testing.F) {
	f.Add("a,b\r\n\"c\"\"d\re\",\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, _, err := readAll(text, ',')
		if err != nil {
			return
		}
		var again []byte
		for _, row := range rows {
			again = AppendRow(again, row, ',')
		}
		if got, _, err := readAll(string(again), ','); err != nil || !reflect.DeepEqual(got, rows) {
			t.Fatalf("%q is read as %q (error %v), want %q", again, got, err, rows)
		}
	})
}
