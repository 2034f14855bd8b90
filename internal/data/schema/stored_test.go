package schema

import (
	"math"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

var storedType = &value.Type{Kind: value.TypeStruct, Name: "Kept", Fields: []value.Field{
	{Name: "ratio", Type: floatT},
	{Name: "limit", Type: option(intT), HasDefault: true, Default: value.Int(5)},
	{Name: "twice", Type: option(option(intT)), HasDefault: true},
	{Name: "extra", Type: value.AnyType, HasDefault: true},
	{Name: "note", Type: stringT, Optional: true},
}}

func resultOf(ok, err *value.Type) *value.Type {
	return &value.Type{Kind: value.TypeResult, Args: []*value.Type{ok, err}}
}

func pair(k string, v value.Slot) value.Slot {
	m := value.NewMap(1)
	m.Set(value.String(k), v)
	return m.Slot()
}

// TestStoredRoundTrip checks that an encoded value is decoded to the same value.
func TestStoredRoundTrip(t *testing.T) {
	ints := value.NewMap(2)
	ints.Set(value.Int(-1), value.Float(0.1))
	ints.Set(value.Int(math.MaxInt64), value.Float(math.Inf(-1)))
	for _, c := range []struct {
		s    value.Slot
		t    *value.Type
		want string
	}{
		{value.Int(math.MinInt64), intT, "-9223372036854775808"},
		{value.Float(3), floatT, "3.0"}, {value.Float(1e300), floatT, "1e+300"}, {value.Float(math.Copysign(0, -1)), floatT, "-0.0"},
		{value.Float(math.NaN()), floatT, `"NaN"`}, {value.Float(math.Inf(1)), floatT, `"inf"`},
		{value.String("a\x00é\"\n"), stringT, `"a\u0000é\"\n"`}, {value.String("low"), levelT, `"low"`}, {value.Nil, nilT, "null"}, {value.Bool(true), boolT, "true"},
		{value.Nil, option(intT), "null"}, {value.Some(value.Int(1)), option(intT), "1"},
		{value.Nil, option(option(intT)), "null"}, {value.Some(value.Nil), option(option(intT)), `{"some":null}`},
		{value.Some(value.Some(value.Int(1))), option(option(intT)), `{"some":1}`},
		{value.Some(value.Nil), option(value.AnyType), `{"some":null}`}, {value.Some(pair("some", value.Int(1))), option(value.AnyType), `{"some":{"some":1}}`},
		{value.IntArray([]int64{1, 2}), array(intT), "[1,2]"}, {value.NewArray().Slot(), array(floatT), "[]"},
		{ints.Slot(), mapOf(intT, floatT), `{"-1":0.1,"9223372036854775807":"-inf"}`},
		{value.Tuple(value.Int(1), value.Bool(false)), tuple(intT, boolT), "[1,false]"},
		{storedType.Struct(value.Float(1), value.Nil, value.Some(value.Nil), pair("a", value.Float(2)), value.Nil), storedType,
			`{"ratio":1.0,"limit":null,"twice":{"some":null},"extra":{"a":2.0}}`},
		{storedType.Struct(value.Float(1), value.Int(2), value.Nil, value.Nil, value.String("n")), storedType, `{"ratio":1.0,"limit":2,"twice":null,"extra":null,"note":"n"}`},
		{shapeT.Enum(0), shapeT, `"Empty"`}, {shapeT.Enum(1, value.Float(1)), shapeT, `{"variant":"Circle","data":1.0}`},
		{shapeT.Enum(2, value.Int(1), value.Int(2)), shapeT, `{"variant":"Box","data":[1,2]}`},
		{shapeT.Enum(3, value.String("x")), shapeT, `{"variant":"Named","data":{"label":"x"}}`},
		{value.Ok(value.Int(1)), resultOf(intT, stringT), `{"ok":1}`}, {value.Err(value.String("e")), resultOf(intT, stringT), `{"err":"e"}`},
	} {
		raw, err := EncodeStored(c.s, c.t)
		if err != nil || string(raw) != c.want {
			t.Errorf("EncodeStored(%s) as %s = %s, %v, want %s", value.Text(c.s), c.t, raw, err, c.want)
			continue
		}
		back, errs := DecodeStored(raw, c.t)
		encoded, err := EncodeStored(back, c.t)
		nan := c.s.Kind() == value.KindFloat && math.IsNaN(c.s.AsFloat())
		if len(errs) > 0 || err != nil || string(encoded) != c.want || !nan && !value.Equal(back, c.s) || c.s.Kind() == value.KindFloat && back.Bits != c.s.Bits {
			t.Errorf("DecodeStored(%s) as %s = %s, errors %v, %v", raw, c.t, value.Text(back), errs, err)
		}
	}
}

// TestEncodeStoredRefusesLoss checks that EncodeStored returns an error for a value that would be
// decoded differently.
func TestEncodeStoredRefusesLoss(t *testing.T) {
	keyed := value.NewMap(1)
	keyed.Set(value.Int(1), value.Nil)
	small := &value.Type{Kind: value.TypeStruct, Name: "Kept", Fields: storedType.Fields[:1]}
	deep := value.NewArray().Slot()
	for range value.MaxDepth {
		a := value.NewArray()
		a.Push(deep)
		deep = a.Slot()
	}
	for _, c := range []struct {
		s    value.Slot
		t    *value.Type
		want string
	}{
		{shapeT.Enum(0), value.AnyType, "a value of type Shape cannot be stored as Any: its type would be lost"},
		{pair("p", value.Tuple(value.Int(1))), value.AnyType, "p: a value of type Tuple cannot be stored as Any: its type would be lost"},
		{keyed.Slot(), value.AnyType, "a map's key of type Int cannot be stored as Any: it would be read back as a String"},
		{value.Float(math.NaN()), value.AnyType, "NaN cannot be stored as Any: it would be read back as a String"},
		{value.String("x"), intT, "a value of type String cannot be stored as Int"},
		{storedType.Struct(value.Float(1), value.Nil, value.Nil, storedType.Struct(), value.Nil), storedType, "extra: a value of type Kept cannot be stored as Any: its type would be lost"},
		{keyed.Slot(), mapOf(value.AnyType, nilT), "a map's key of type Int cannot be stored as Any: it would be read back as a String"},
		{value.Float(math.Inf(-1)), value.AnyType, "-inf cannot be stored as Any: it would be read back as a String"},
		{value.Int(1), floatT, "a value of type Int cannot be stored as Float"}, {value.Int(1), array(intT), "a value of type Int cannot be stored as Array<Int>"},
		{value.Int(1), mapOf(stringT, intT), "a value of type Int cannot be stored as Map<String, Int>"},
		{value.Tuple(value.Int(1)), tuple(intT, intT), "a value of type Tuple cannot be stored as (Int, Int)"},
		{value.NewArray().Slot(), tuple(), "a value of type Array cannot be stored as ()"}, {value.Nil, intT, "nil cannot be stored as Int"},
		{itemT.Struct(value.Nil, value.Nil, value.Nil, value.Nil), storedType, "a value of type Item cannot be stored as Kept"},
		{small.Struct(value.Float(1)), storedType, "a value of type Kept cannot be stored as Kept"}, {value.Int(1), storedType, "a value of type Int cannot be stored as Kept"},
		{value.Int(1), shapeT, "a value of type Int cannot be stored as Shape"}, {value.Ok(value.Nil), shapeT, "a value of type Result cannot be stored as Shape"},
		{value.Int(1), resultOf(intT, intT), "a value of type Int cannot be stored as Result<Int, Int>"},
		{shapeT.Enum(1, value.String("x")), shapeT, "data: a value of type String cannot be stored as Float"},
		{shapeT.Enum(2, value.Int(1), value.Nil), shapeT, "data[1]: nil cannot be stored as Int"},
		{shapeT.Enum(3, value.Nil), shapeT, "data.label: nil cannot be stored as String"},
	} {
		if _, err := EncodeStored(c.s, c.t); err == nil || err.Error() != c.want {
			t.Errorf("EncodeStored(%s): error = %v, want %s", value.Text(c.s), err, c.want)
		}
	}
	if _, err := EncodeStored(deep, value.AnyType); err == nil || !strings.HasSuffix(err.Error(), "nested too deeply") {
		t.Error("EncodeStored accepted a value that is too deep to be decoded")
	}
}

// TestDecodeStoredAfterTypeChange changes the type after encoding. New fields with defaults and
// removed fields are valid. Errors of other changes contain the path.
func TestDecodeStoredAfterTypeChange(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"ratio":1,"gone":true}`, `{"ratio":1.0,"limit":5,"twice":null,"extra":null}`},
		{`{"ratio":"much"}`, `ratio: expected Float, got "much"`},
		{`{"limit":"x","twice":1}`, `ratio: missing, expected Float; limit: expected Int, got "x"; twice: expected Option<Option<Int>>, got 1`},
		{`{"ratio":"-inf","limit":null}`, `{"ratio":null,"limit":null,"twice":null,"extra":null}`},
		{`{"ratio":1,"twice":{"some":1,"more":2}}`, `twice: expected Option<Option<Int>>, got an object`},
		{`{"ratio":1,"twice":{"other":1}}`, `twice: expected Option<Option<Int>>, got an object`},
		{`[`, `not valid JSON: unexpected end of the text at offset 1`},
	} {
		s, errs := DecodeStored([]byte(c.in), storedType)
		got := Join(errs)
		if len(errs) == 0 {
			got = string(value.AppendJSON(nil, s))
		}
		if got != c.want {
			t.Errorf("DecodeStored(%s) = %s, want %s", c.in, got, c.want)
		}
	}
}

// FuzzDecodeStored decodes arbitrary texts. The result must be errors, or a value that encoding and
// decoding does not change.
func FuzzDecodeStored(f *testing.F) {
	all := []*value.Type{intT, floatT, levelT, itemT, orderT, shapeT, treeT, storedType, option(option(floatT)), mapOf(intT, array(option(value.AnyType))),
		tuple(intT, boolT), resultOf(storedType, shapeT), value.AnyType}
	for _, s := range []string{`1`, `"NaN"`, `{"some":{"some":null}}`, `{"ratio":1,"extra":{"a":[1.5,null]},"note":"x"}`, `{"variant":"Box","data":[1,2]}`,
		`{"1":[null,{"some":{}}]}`, `{"ok":{"ratio":"inf"}}`, `{"value":1,"children":[{"value":2,"children":[]}]}`, `[1,true]`, `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range all {
			s, errs := DecodeStored([]byte(text), typ)
			if len(errs) > 0 {
				continue
			}
			raw, err := EncodeStored(s, typ)
			if err != nil {
				t.Fatalf("EncodeStored of the value of %s as %s: %v", text, typ, err)
			}
			back, errs := DecodeStored(raw, typ)
			if len(errs) > 0 {
				t.Fatalf("%s as %s, encoded as %s: DecodeStored: %v", text, typ, raw, errs)
			}
			if encoded, err := EncodeStored(back, typ); err != nil || string(encoded) != string(raw) {
				t.Fatalf("%s as %s: encoded as %s, after decoding as %s, error %v", text, typ, raw, encoded, err)
			}
		}
	})
}
