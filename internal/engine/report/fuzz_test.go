package report_test

import (
	"bytes"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/report"
)

// FuzzOfTranscript checks that the report of any text that begins like a transcript can be written
// and read.
func FuzzOfTranscript(f *testing.F) {
	f.Add(`{"t":0.1,"kind":"request","task":1,"agent":"A","attempt":1,"of":1,"connection":"c","model":"m","messages":[{"role":"user","content":"x"}]}
{"t":0.2,"kind":"reply","task":1,"agent":"A","attempt":1,"of":1,"connection":"c","model":"m","tokens_in":3,"tokens_out":5,"cost_usd":0.000013,"text":"y"}
{"t":0.3,"kind":"end","calls":1}
`)
	f.Add(`{"t":1,"kind":"tool_call","tool":"x","id":"1","args":"{}"}
{"t":2,"kind":"tool_result","tool":"x","id":"1","result":"y","failed":true}
{"t":3,"kind":"failure","agent":"A","message":"no","reason":"rate_limit"}
{"t":4,"kind":"repair","agent":"A","message":"again"}`)
	f.Fuzz(func(t *testing.T, records string) {
		r, ok := report.OfTranscript([]byte("{\"concerto_transcript\":1,\"started\":\"2026-01-01T00:00:00Z\"}\n" + records))
		if !ok {
			t.Fatal("the text is a transcript")
		}
		var text bytes.Buffer
		if err := r.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		back, err := report.Read(text.Bytes())
		if err != nil || len(back.Items) != len(r.Items) {
			t.Errorf("read %d of %d items, error %v", len(back.Items), len(r.Items), err)
		}
		for i, x := range r.Items {
			if x.N != i+1 || x.Parent == nil != (i == 0) {
				t.Errorf("item %d has the number %d and the parent %v", i+1, x.N, x.Parent)
			}
		}
	})
}
