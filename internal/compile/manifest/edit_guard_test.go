package manifest

import "testing"

// TestAddGuardRule checks that a rule is added to each form of [guard.permissions], and that all
// other text stays.
func TestAddGuardRule(t *testing.T) {
	for _, c := range []struct{ key, before, want string }{ // want is "" for an error
		{"commands.allow", "[guard]\n", "[guard]\n\n[guard.permissions.commands]\nallow = [\"x *\"]\n"},
		{"commands.allow", "[guard]\n# c\n[guard.permissions]\nread = [\".\"] # d\n", "[guard]\n# c\n[guard.permissions]\nread = [\".\"] # d\n\n[guard.permissions.commands]\nallow = [\"x *\"]\n"},
		{"commands.allow", "[guard.permissions]\ncommands = { allow = [\"a\"], deny = [\"b\"] }\n", "[guard.permissions]\ncommands = { allow = [\"a\", \"x *\"], deny = [\"b\"] }\n"},
		{"commands.deny", "[guard.permissions]\ncommands = { allow = [\"a\"] }\n", "[guard.permissions]\ncommands = { allow = [\"a\"], deny = [\"x *\"] }\n"},
		{"commands.deny", "[guard.permissions]\ncommands = {}\n", "[guard.permissions]\ncommands = { deny = [\"x *\"]}\n"},
		{"commands.allow", "[guard.permissions.commands]\nallow = []\n", "[guard.permissions.commands]\nallow = [\"x *\"]\n"},
		{"commands.allow", "[guard.permissions.commands]\nallow = [\n  \"a\", # c\n]\n", "[guard.permissions.commands]\nallow = [\n  \"a\", \"x *\", # c\n]\n"},
		{"commands.allow", "[guard.permissions.commands] # c\ndeny = [\"a\"]\n[run]\n", "[guard.permissions.commands] # c\nallow = [\"x *\"]\ndeny = [\"a\"]\n[run]\n"},
		{"mcp.allow", "[guard.permissions.commands]\ndeny = [\"a\"]\n", "[guard.permissions.commands]\ndeny = [\"a\"]\n\n[guard.permissions.mcp]\nallow = [\"x *\"]\n"},
		{"commands.allow", "[guard]\npermissions = { commands = { allow = [\"a\"] } }\n", "[guard]\npermissions = { commands = { allow = [\"a\", \"x *\"] } }\n"},
		{"commands.allow", "[guard]\npermissions = { read = [\".\"] }\n", ""},
		{"commands.allow", "[project]\nname = \"x\"\n", ""},
		{"commands.allow", "[guard\n", ""},
	} {
		out, err := AddGuardRule([]byte(c.before), c.key, "x *")
		if string(out) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s in %q:\n%q (%v)\nwant\n%q", c.key, c.before, out, err, c.want)
		}
	}
}
