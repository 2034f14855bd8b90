package journal

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// TestEncode compares the encoding of random records with that of encoding/json. Each record has a
// few members, so a member that encode does not know is found, too.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Record{}
		fill(t, reflect.ValueOf(r).Elem())
		got, err := r.encode([]byte("before"))
		want, werr := jsonwrite.Append([]byte("before"), r)
		if err != nil || werr != nil || string(got) != string(want) {
			t.Fatalf("encode = %s (error %v)\nencoding/json: %s (error %v)", got, err, want, werr)
		}
	})
}

// TestDecode compares the decoding of random records with that of encoding/json.
func TestDecode(t *testing.T) {
	fast := 0
	rapid.Check(t, func(t *rapid.T) {
		r := &Record{}
		fill(t, reflect.ValueOf(r).Elem())
		if rapid.Bool().Draw(t, "frequent members only") {
			r = &Record{Seq: r.Seq, Time: r.Time, RecordKind: r.RecordKind, Synced: r.Synced, Effect: r.Effect, Task: r.Task, Kind: r.Kind, Class: r.Class, Of: r.Of, Hash: r.Hash, Owner: Owner{N: r.N, By: r.By},
				RequestMembers: RequestMembers{Request: r.Request, Digest: r.Digest, Key: r.Key, Due: r.Due, Until: r.Until}, ResultMembers: ResultMembers{Outcome: r.Outcome, Result: r.Result}}
		}
		line, err := r.encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		var got, want Record
		if err := got.decode(line); err != nil {
			t.Fatalf("decode %s: %v", line, err)
		}
		if err := json.Unmarshal(line, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("decode %s = %+v\nencoding/json: %+v (error %v)", line, got, want, err)
		}
		if x := new(Record); jsonread.Members(line, x.set) {
			fast++
		}
	})
	if fast < 10 {
		t.Errorf("%d lines were read without encoding/json, which are too few to compare", fast)
	}
}

// FuzzDecode compares the decoding of any line with that of encoding/json.
func FuzzDecode(f *testing.F) {
	for _, line := range []string{`{"s":1,"t":2,"k":"did","e":3,"q":"clock","v":{"a":[1]},"h":"00"}`, `{"S":1}`, `{"s":-1}`, `{"k":"a","k":"b"}`, `{"v":null,"r":null}`, `{"e":1e3}`, `{"y":false}`, `{"k":null}`, `{"s":01}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var got, want Record
		gerr, werr := got.decode(line), json.Unmarshal(line, &want)
		if (gerr == nil) != (werr == nil) || werr == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("decode %s = %+v, error %v\nencoding/json: %+v, error %v", line, got, gerr, want, werr)
		}
	})
}

// fill sets some of the fields of v to random values.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
			fill(t, f)
			continue
		}
		if rapid.IntRange(0, 9).Draw(t, name+"?") > 0 {
			continue
		}
		text := rapid.OneOf(rapid.StringMatching(`[ -~]{0,8}`), rapid.String())
		switch f.Interface().(type) {
		case string:
			f.SetString(text.Draw(t, name))
		case bool:
			f.SetBool(true)
		case int, int64:
			f.SetInt(rapid.Int64().Draw(t, name))
		case uint64:
			f.SetUint(rapid.Uint64().Draw(t, name))
		case []string:
			f.Set(reflect.ValueOf(rapid.SliceOf(text).Draw(t, name)))
		case []int:
			f.Set(reflect.ValueOf(rapid.SliceOf(rapid.Int()).Draw(t, name)))
		case *int:
			f.Set(reflect.ValueOf(new(rapid.Int().Draw(t, name))))
		case *int64:
			f.Set(reflect.ValueOf(new(rapid.Int64().Draw(t, name))))
		case *[2]int64:
			f.Set(reflect.ValueOf(&[2]int64{rapid.Int64().Draw(t, name), rapid.Int64().Draw(t, name)}))
		case *Start:
			f.Set(reflect.ValueOf(&Start{Run: text.Draw(t, name), Inputs: []byte("{}"), Session: []byte("{}"), Flags: []byte("{}")}))
		case *Resolved:
			f.Set(reflect.ValueOf(&Resolved{By: text.Draw(t, name)}))
		case []Wait:
			f.Set(reflect.ValueOf([]Wait{{Effect: rapid.Int64().Draw(t, name)}}))
		default: // json.RawMessage; reflect fails for any other type
			f.SetBytes(rapid.SampledFrom([][]byte{nil, []byte("null"), []byte(`{"a": [1, "<x>"]}`), []byte("[]")}).Draw(t, name))
		}
	}
}
