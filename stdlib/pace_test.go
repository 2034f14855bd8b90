package stdlib

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/vm"
)

// short contains the natives whose work does not grow with their arguments. Finding a key and
// copying an argument do not count.
var short = strings.Fields(`
	Array.clear Array.first Array.get Array.is_empty Array.last Array.len Array.pop Array.push Array.swap Array.truncate
	Bool.to_string Error.context Error.to_string __with_context
	Float.abs Float.ceil Float.clamp Float.floor Float.is_finite Float.is_nan Float.max Float.min Float.pow Float.round Float.sqrt
	Float.to_fixed Float.to_int Float.to_string Float.trunc
	HashMap.__add HashMap.__clear HashMap.__delete HashMap.__put HashMap.__removal HashMap.__removed HashMap.get HashMap.get_or HashMap.has
	HashMap.len HashMap.on_any_change HashMap.on_change HashMap.scope
	Int.abs Int.bit_and Int.bit_not Int.bit_or Int.bit_xor Int.checked_add Int.checked_mul Int.checked_sub Int.clamp Int.pow Int.shl Int.shr
	Int.to_float Int.to_hex Int.to_string Int.wrapping_add Int.wrapping_mul Int.wrapping_sub
	Ledger.clear Ledger.delete Ledger.insert Ledger.len Ledger.scope Ledger.update Ledger.update_keys
	Queue.__claim Queue.__get Queue.counts Queue.extend Queue.fail Queue.release Queue.remove Queue.retry queue.wait
	Map.clear Map.delete Map.get Map.get_or Map.has Map.insert Map.is_empty Map.len Map.remove Map.set
	process.exit
	Option.expect Option.is_none Option.is_some Option.or Option.unwrap Option.unwrap_or
	Range.contains Range.len
	Result.err Result.expect Result.is_err Result.is_ok Result.ok Result.unwrap Result.unwrap_err Result.unwrap_or
	String.char_at String.is_empty String.slice String.substring String.parse_int
	assert crypto.__hex crypto.__uuid decorate.failure decorate.is_final decorate.payload eprint host.tool_call input mock.input
	math.abs math.acos math.asin math.atan math.atan2 math.ceil math.clamp math.cos math.exp math.floor math.gcd math.hypot math.ln
	math.log10 math.log2 math.max math.min math.pow math.round math.sin math.sqrt math.tan
	eval.agree eval.error eval.score partial.new random.__float random.__uuid random.__within run.usage same shape.json_schema shape.name
	time.__cron time.__fixed_zone time.__format time.__instant time.parse tool.dispatched tool.dispatching tools.__positive typeof`)

const (
	longInts = 1 << 15
	longText = 1 << 17
)

// longCall is a call of a native with large arguments.
type longCall struct {
	native string
	window func() []value.Slot
	run    *vm.VM // run in which the call takes place; nil for none
}

// longCalls returns calls of all natives that iterate over their arguments.
func longCalls() []longCall {
	ints := make([]int64, longInts)
	floats := value.NewArray()
	words := make([]string, longInts)
	entries := value.NewMap(0)
	rows := value.NewArray()
	for i := range ints {
		ints[i] = int64(uint32(i) * 2654435761 >> 8)
		floats.Push(value.Float(float64(ints[i])))
	}
	for i := range words {
		words[i] = fmt.Sprint("w", i)
		entries.SetString(words[i], value.Int(int64(i)))
		rows.Push(value.ArrayOf(value.Int(int64(i)), value.String("x")))
	}
	text := strings.Repeat("ab é, ", longText/7)
	blank := strings.Repeat(" ", longText)
	json := `["` + strings.Repeat(`", "`, longText/8) + `"]`
	array, strs := value.IntArray(ints), value.StringArray(words)
	whole := value.Tuple(strs, entries.Slot())
	twice := value.Tuple(value.Copy(strs), value.Copy(entries.Slot()))
	anyArray := value.NewTypeDesc(&value.Type{Kind: value.TypeArray, Args: []*value.Type{{Kind: value.TypeInt}}})
	strArray := value.NewTypeDesc(&value.Type{Kind: value.TypeArray, Args: []*value.Type{{Kind: value.TypeString}}})
	match := value.NewTypeDesc(&value.Type{Kind: value.TypeStruct, Name: "Match", Fields: make([]value.Field, 4)})
	entry := value.NewTypeDesc(&value.Type{Kind: value.TypeStruct, Name: "LedgerEntry", Fields: make([]value.Field, 3)})
	hashmap, ledger := memstore.NewHashMap("h"), memstore.NewLedger("l")
	for i, w := range words {
		hashmap.Set(value.String(w), value.Int(int64(i)))
		if err := ledger.Insert(w, nil, w); err != nil {
			panic(err)
		}
	}
	queue := memstore.NewQueue("q")
	queue.Item = &value.Type{Kind: value.TypeArray, Args: []*value.Type{{Kind: value.TypeString}}}
	items := make([]*memstore.QueueRow, longInts)
	for i := range items {
		items[i] = &memstore.QueueRow{QueueItem: effect.QueueItem{ID: fmt.Sprint("t", i), Value: []byte("[]"), State: "done"}, Seq: int64(i + 1)}
	}
	queue.SetContent(items, longInts)
	var calls []longCall
	add := func(name string, window ...value.Slot) {
		calls = append(calls, longCall{native: name, window: func() []value.Slot {
			fresh := append([]value.Slot(nil), window...)
			for i, x := range fresh {
				if x.Kind() == value.KindString { // a new Str has no cached number of characters
					fresh[i] = value.String(x.AsString())
				}
			}
			return fresh
		}})
	}
	n, s := value.Int, value.String
	own := func(name string, window ...value.Slot) { // own adds a call of a native that changes its receiver
		calls = append(calls, longCall{native: name, window: func() []value.Slot {
			return append([]value.Slot{value.Copy(window[0])}, window[1:]...)
		}})
	}
	add("__errors_in", whole)
	for _, a := range []value.Slot{array, floats.Slot(), strs} {
		for _, name := range []string{"Array.sort", "Array.reverse", "Array.to_string", "__order", "__least", "__greatest", "Array.min", "Array.max",
			"Array.unique", "Array.enumerate", "random.__shuffle"} {
			add(name, a, n(7))
		}
		for _, name := range []string{"Array.contains", "Array.index_of"} {
			add(name, a, value.Nil)
		}
		for _, name := range []string{"Array.chunks", "Array.windows"} {
			add(name, a, n(2))
		}
		own("Array.extend", a, a)
		own("Array.insert", a, n(0), a.Array().At(0))
		own("Array.remove", a, n(1))
		add("Array.zip", a, a)
		add("Array.join", a, s(", "))
		add("Array.slice", a, n(0), n(longInts))
		add("Array.take", a, n(longInts))
		add("Array.skip", a, n(0))
		add("__line", a)
	}
	add("Array.contains", array, n(-1))
	add("Array.unique", value.ArrayOf(twice, strs, value.Copy(twice)))
	for _, name := range []string{"Array.sum", "Array.sum_float"} {
		add(name, array)
	}
	ones := make([]int64, longInts)
	for i := range ones {
		ones[i] = 1
	}
	add("Array.product", value.IntArray(ones))
	add("Array.product_float", floats.Slot())
	add("eval.f1", strs, strs)
	add("eval.same_text", s(text), s(text))
	add("eval.similarity", s(text[:longText/16]), s(blank[:longText/16]))
	for _, name := range []string{"Map.entries", "Map.to_array", "Map.keys", "Map.values", "Map.to_string"} {
		add(name, entries.Slot())
	}
	own("Map.merge", value.NewMap(0).Slot(), entries.Slot())
	for _, name := range []string{"HashMap.entries", "HashMap.keys", "HashMap.values", "HashMap.to_map"} {
		add(name, hashmap.Value())
	}
	add("HashMap.get_many", hashmap.Value(), strs)
	add("HashMap.__put_many", hashmap.Value(), entries.Slot())
	add("Ledger.identifiers", ledger.Value())
	add("__ledger_find", ledger.Value(), s("entries"), value.NewArray().Slot(), entry)
	add("Queue.add", queue.Value(), strs, s(""), value.NewArray().Slot(), n(0), value.Float(0))
	add("Queue.complete", queue.Value(), value.NewMap(0).Slot(), s(strings.Repeat(text, 8)))
	add("Queue.__list", queue.Value(), s(""))
	all := value.NewRange(0, longInts)
	add("Range.to_array", all)
	add("Range.reverse", all)
	add("Range.step", value.NewRange(0, 3*longInts), n(3))
	for _, t := range []string{text, blank, text + "\n" + text} {
		for _, name := range []string{"String.bytes", "String.capitalize", "String.chars", "String.code_points", "String.reverse",
			"String.to_lower", "String.to_upper", "String.lines", "String.split_whitespace", "prompt.count_tokens", "crypto.sha256", "crypto.sha512", "crypto.sha1",
			"crypto.md5", "crypto.hex_encode", "crypto.base64_encode", "json.stringify", "to_string"} {
			if name == "to_string" || name == "String.capitalize" && t[0] == ' ' {
				continue // this native returns its argument
			}
			add(name, s(t))
		}
		for _, name := range []string{"String.contains", "String.index_of", "String.last_index_of", "String.count", "String.split",
			"String.split_once"} {
			add(name, s(t), s("z"))
		}
		for _, name := range []string{"String.starts_with", "String.ends_with", "String.trim_prefix", "String.trim_suffix", "String.compare",
			"crypto.constant_time_eq", "crypto.hmac_sha256"} {
			add(name, s(t), s(t))
		}
		add("String.len", s(t))
		add("len", s(t))
		add("String.split", s(t), s(" "))
		add("String.replace", s(t), s(" "), s("__"))
		add("String.replace", s(t), s(""), s("_"))
		add("String.replace_first", s(t), s("z"), s("_"))
		add("String.pad_left", s(t), n(2*longText), s("xy"))
		add("String.pad_right", s(t), n(2*longText), s("xy"))
		add("String.repeat", s(t), n(3))
		add("String.matches", s(t), s(`z|\d`))
		add("regex.__find", s(`[^z]`), s(t), n(-1), match)
		add("regex.__find", s(`\b(z)`), s(t), n(-1), match)
		add("regex.captures", s(`(z)+$`), s(t))
		add("regex.replace", s(` `), s(t), s("_$0"))
		add("regex.split", s(` +`), s(t))
		add("fmt.truncate", s(t), n(5), s("…"))
		add("fmt.indent", s(t), n(2))
		add("fmt.format", s(t), value.NewArray().Slot())
		add("prompt.template", s(t), value.NewMap(0).Slot())
		add("agent.tool_args", s(`{"a": "`+strings.ReplaceAll(t, "\n", "")+`"}`))
	}
	for _, name := range []string{"String.trim", "String.trim_start", "String.trim_end", "String.is_whitespace"} {
		add(name, s(blank))
	}
	add("string.from_code_points", array)
	for _, name := range []string{"String.is_digit", "String.is_alphabetic", "String.is_alphanumeric"} {
		add(name, s(strings.Repeat(map[bool]string{true: "1", false: "x"}[name == "String.is_digit"], longText)))
	}
	add("String.parse_float", s(strings.Repeat("1", longText)))
	add("fmt.table", rows.Slot(), value.NewArray().Slot())
	add("fmt.format", s(strings.Repeat("{0}", 1000)), value.ArrayOf(s(text)))
	add("json.parse", s(json))
	add("json.is_valid", s(json))
	add("json.parse_as", s(json), strArray)
	add("shape.parse", s(json), strArray)
	add("shape.parse", s("["+strings.Repeat("1,", longInts)+"1]"), anyArray)
	add("shape.convert", strs, strArray)
	members := value.NewMap(1)
	members.SetString("options", strs)
	add("host.message.read", members.Slot(), value.NewTypeDesc(&value.Type{Kind: value.TypeMap, Args: []*value.Type{{Kind: value.TypeString}, strArray.TypeDesc()}}))
	add("shape.read", s("the answer: "+json), strArray)
	add("mcp.read", s("server"), s("tool"), s(json), value.Nil, strArray)
	for _, name := range []string{"yaml.parse", "yaml.parse_all", "yaml.parse_as"} {
		add(name, s(json), strArray)
	}
	toml := s(strings.Repeat("[[a]]\nb = \"xxxxxxxxxxx\"\n", longText/28))
	add("toml.parse", toml)
	add("toml.parse_as", toml, value.NewTypeDesc(&value.Type{Kind: value.TypeAny}))
	add("toml.stringify", entries.Slot())
	add("yaml.stringify", strs)
	add("csv.parse", s(strings.Repeat("ab,é\n", longText/6)), s(","))
	add("csv.parse_records", s(strings.Repeat("ab,é\n", longText/6)), s(","))
	add("csv.stringify", rows.Slot(), s(","))
	slashes := s(strings.Repeat("ab/", longText/3))
	for _, name := range []string{"path.normalize", "path.parent", "path.file_name", "path.stem", "path.extension"} {
		add(name, slashes)
	}
	add("path.join", strs)
	add("path.relative", slashes, s("x"))
	add("json.stringify_pretty", strs, n(2))
	add("json.stringify", whole)
	add("json.stringify", s(text))
	add("to_string", whole)
	add("Any.to_string", whole)
	add("assert_eq", whole, twice, s(""))
	add("assert_ne", whole, twice, s(""))
	add("collections.__key", whole)
	add("agent.tool_text", whole)
	add("http.__body", whole, value.NewMap(0).Slot(), n(1))
	add("crypto.hex_decode", s(strings.Repeat("41", longText/2)))
	add("crypto.base64_decode", s(strings.Repeat("QUFB", longText/4)))
	add("partial.feed", value.NewHandle("Partial", "", newPartial(strArray.TypeDesc())), s(json))
	return calls
}

// interrupted is the panic value of the pace in these tests.
type interrupted struct{}

// countChecks calls a native and returns the number of checks by its pace. Check number last
// interrupts the native; ended is true if that happened.
func (c longCall) countChecks(last int) (n int, ended bool) {
	const between = 1000
	p := &value.Pace{Left: between, Check: func() int {
		if n++; n == last {
			panic(interrupted{})
		}
		return between
	}}
	defer func() {
		if x := recover(); x != nil {
			if _, ended = x.(interrupted); !ended {
				panic(x)
			}
		}
	}()
	if f := natives[c.native]; c.run != nil { // other tests check the result of the native
		c.run.Invoke(f, p, c.native, c.window())
	} else {
		f.InvokeIn(p, c.native, c.window())
	}
	return n, false
}

// TestLongNatives checks that every native which iterates over its arguments can be interrupted.
// For each native it makes a call with a large argument, counts the checks, and interrupts the call
// at several of them.
func TestLongNatives(t *testing.T) {
	randtest.InOneGoroutine(t)
	tested := map[string]bool{}
	m := declaring(t)
	for _, name := range slices.Concat(short, shortEffects) {
		if natives[name] == nil {
			t.Errorf("there is no native %s", name)
		}
		tested[name] = true
	}
	for i, c := range append(longCalls(), longEffects(t, m)...) {
		if natives[c.native] == nil {
			t.Fatalf("there is no native %s", c.native)
		}
		tested[c.native] = true
		n, _ := c.countChecks(-1)
		if n == 0 {
			t.Errorf("call %d: %s on %s makes no check for cancellation", i, c.native, value.TypeName(c.window()[0]))
			continue
		}
		for _, last := range []int{1, (n + 1) / 2, n} {
			if got, ended := c.countChecks(last); !ended || got != last {
				t.Errorf("call %d: %s is not cancelled by its check %d of %d", i, c.native, last, n)
			}
		}
	}
	for name := range natives {
		if !tested[name] {
			t.Errorf("%s is not tested: add a call to longCalls or longEffects, or the name to short (pace_test.go) or shortEffects (pace_run_test.go)", name)
		}
	}
}
