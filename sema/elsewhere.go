package sema

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/types"
)

// elsewhere gives, for names that other languages give to methods, what the
// library calls them. Only those that the type has are told.
var elsewhere = map[string][]string{
	"length": {"len"}, "size": {"len"}, "count": {"len"},
	"empty": {"is_empty"}, "isempty": {"is_empty"}, "isnil": {"is_none"}, "isnull": {"is_none"},
	"append": {"push", "extend"}, "add": {"push", "insert"}, "pushback": {"push"}, "concat": {"extend", "merge"},
	"includes": {"contains", "has"}, "contains": {"has"}, "containskey": {"has"}, "haskey": {"has"}, "in": {"contains", "has"}, "exists": {"any"}, "some": {"any"}, "every": {"all"},
	"foreach": {"each"}, "collect": {"to_array"}, "tolist": {"to_array"}, "retain": {"filter"}, "select": {"filter", "map"}, "where": {"filter"},
	"inject": {"fold"}, "foldl": {"fold"}, "drop": {"skip"}, "limit": {"take"}, "position": {"find_index", "index_of"}, "find": {"index_of"}, "indexof": {"index_of"},
	"sorted": {"sort"}, "uniq": {"unique"}, "distinct": {"unique"}, "dedup": {"unique"}, "nth": {"get"}, "at": {"get", "char_at"}, "charat": {"char_at"}, "head": {"first"},
	"put": {"set", "insert"}, "update": {"merge", "set"}, "items": {"entries"}, "iter": {"entries"}, "del": {"remove", "delete"}, "erase": {"remove", "delete"},
	"upper": {"to_upper"}, "uppercase": {"to_upper"}, "touppercase": {"to_upper"}, "lower": {"to_lower"}, "lowercase": {"to_lower"}, "tolowercase": {"to_lower"},
	"strip": {"trim"}, "lstrip": {"trim_start"}, "rstrip": {"trim_end"}, "trimleft": {"trim_start"}, "trimright": {"trim_end"}, "startswith": {"starts_with"}, "endswith": {"ends_with"},
	"hasprefix": {"starts_with"}, "hassuffix": {"ends_with"}, "replaceall": {"replace"}, "substr": {"slice"}, "padstart": {"pad_left"}, "padend": {"pad_right"},
	"tostring": {"to_string"}, "str": {"to_string"}, "string": {"to_string"}, "toint": {"to_int", "parse_int"}, "tofloat": {"to_float", "parse_float"}, "parse": {"parse_int", "parse_float"},
	"get": {"unwrap_or"}, "isok": {"is_ok"}, "iserr": {"is_err"}, "orelse": {"or_else"}, "getorelse": {"unwrap_or"}, "flatmap": {"and_then", "flat_map"}, "bind": {"and_then"}, "then": {"and_then"},
	"run": {"execute"}, "ask": {"execute"}, "prompt": {"execute"}, "send": {"execute"}, "call": {"execute"}, "complete": {"execute"}, "generate": {"execute"}, "invoke": {"execute"},
}

// libraryName is what the library calls the method that is meant by name, or
// empty when it has none.
func (b *body) libraryName(t types.Type, name string) string {
	has := b.c.methodNames(t)
	for _, n := range elsewhere[strings.ToLower(strings.ReplaceAll(name, "_", ""))] {
		if slices.Contains(has, n) {
			return n
		}
	}
	return ""
}
