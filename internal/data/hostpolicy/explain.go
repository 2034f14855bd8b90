package hostpolicy

// Entry is an entry of a list of Rules. Key is the list's path in the manifest, such as
// "commands.deny", and "" means that no single entry has decided.
type Entry struct {
	Key   string
	Index int // from 0
}

// Explain returns the first entry that alone leads to the verdict of Decide about a request. It is
// slower than Decide, because it tries each entry.
func (p *Policy) Explain(q Request, v Verdict) Entry {
	for _, l := range []struct {
		key     string
		verdict Verdict
		list    []string
		rules   func(one []string) Rules
	}{
		{"deny", Deny, p.rules.Deny, func(one []string) Rules { return Rules{Deny: one} }},
		{"commands.deny", Deny, p.rules.Commands.Deny, func(one []string) Rules { return Rules{Commands: Commands{Deny: one}} }},
		{"net.deny", Deny, p.rules.Net.Deny, func(one []string) Rules { return Rules{Net: Net{Deny: one}} }},
		{"commands.ask", Ask, p.rules.Commands.Ask, func(one []string) Rules { return Rules{Commands: Commands{Ask: one}, Default: string(Deny)} }},
		{"net.ask", Ask, p.rules.Net.Ask, func(one []string) Rules { return Rules{Net: Net{Ask: one}, Default: string(Deny)} }},
		{"read", Allow, p.rules.Read, func(one []string) Rules { return Rules{Read: one} }},
		{"write", Allow, p.rules.Write, func(one []string) Rules { return Rules{Write: one} }},
		{"commands.allow", Allow, p.rules.Commands.Allow, func(one []string) Rules { return Rules{Commands: Commands{Allow: one}} }},
		{"net.allow", Allow, p.rules.Net.Allow, func(one []string) Rules { return Rules{Net: Net{Allow: one}} }},
	} {
		if l.verdict != v {
			continue
		}
		for i, text := range l.list {
			if New(l.rules([]string{text}), p.place).Decide(q) == v {
				return Entry{l.key, i}
			}
		}
	}
	return Entry{}
}

// SimpleCommands returns the words of each command that a shell would run for a text, the first
// word without its directory. unclear means that it may run others.
func SimpleCommands(text string) (commands [][]string, unclear bool) {
	line := parseCommandLine(text)
	return line.simple, line.unclear
}
