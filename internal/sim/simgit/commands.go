package simgit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (x *call) revParse(o *arguments) error {
	if o.has("--show-toplevel") {
		fmt.Fprintf(&x.out, "%s\n%s/.git\n\n", x.top, x.top)
		return nil
	}
	revision, ofTree := strings.CutSuffix(o.rest[0], "^{tree}")
	id, err := x.find(revision)
	if err != nil {
		if o.has("--quiet") {
			return &failed{exit: 1}
		}
		return err
	}
	if ofTree {
		c, _ := x.commit(id) // it exists
		id = c.tree
	}
	fmt.Fprintln(&x.out, id)
	return nil
}

func (x *call) mergeBase(o *arguments) error {
	a, err := x.find(o.rest[0])
	if err != nil {
		return err
	}
	b, err := x.find(o.rest[1])
	if err != nil {
		return err
	}
	if o.has("--is-ancestor") {
		all, err := x.ancestors(b)
		if err == nil && !all[a] {
			err = &failed{exit: 1}
		}
		return err
	}
	base, err := x.base(a, b)
	if err == nil && base == "" {
		err = &failed{exit: 1}
	}
	if err == nil {
		fmt.Fprintln(&x.out, base)
	}
	return err
}

// mergeTree writes the tree of a merge. If there are conflicts, the tree is not that of git.
func (x *call) mergeTree(o *arguments) error {
	merged, conflicts, err := x.merge(o.rest[0], o.rest[1])
	if err != nil {
		return err
	}
	fmt.Fprintf(&x.out, "%s\x00", x.writeTree(merged))
	if len(conflicts) == 0 {
		return nil
	}
	fmt.Fprintf(&x.out, "%s\x00", strings.Join(conflicts, "\x00"))
	return &failed{exit: 1}
}

func (x *call) variable(name string) (value string) {
	for _, v := range x.Environ {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text
		}
	}
	return value
}

func (x *call) commitTree(o *arguments) error {
	if _, err := x.read("tree", o.rest[0]); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", o.rest[0])
	for i, p := range o.options["-p"] {
		if slices.Contains(o.options["-p"][:i], p) {
			continue
		}
		if _, err := x.read("commit", p); err != nil {
			return err
		}
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		part := func(name string) string { return x.variable("GIT_" + who + "_" + name) }
		fmt.Fprintf(&b, "%s %s <%s> %s\n", strings.ToLower(who), part("NAME"), part("EMAIL"), strings.TrimPrefix(part("DATE"), "@"))
	}
	fmt.Fprintln(&x.out, x.write("commit", b.String()+"\n"+string(x.Input)))
	return nil
}

// updateRef changes a ref. Git does not sync the removal of one.
func (x *call) updateRef(o *arguments) error {
	ref := o.rest[0]
	value, expected := "", append(o.rest, "", "")[1:]
	if !o.has("-d") {
		value, expected = expected[0], expected[1:]
	}
	now := x.now.refs[ref]
	switch {
	case expected[0] == strings.Repeat("0", 40) && now != "", strings.Trim(expected[0], "0") != "" && expected[0] != now:
		code := 128
		if o.has("-d") {
			code = 1
		}
		return &failed{code, "fatal: cannot lock ref " + ref + ": it is at " + now}
	case value == "" && now == "":
		return nil
	}
	if value != "" {
		if _, err := x.read("commit", value); err != nil {
			return err
		}
	}
	x.set(change{ref, value}, "reference")
	return nil
}

func (x *call) forEachRef(o *arguments) error {
	prefix := strings.TrimSuffix(o.rest[0], "/") + "/"
	for _, ref := range slices.Sorted(maps.Keys(x.now.refs)) {
		if strings.HasPrefix(ref, prefix) {
			fmt.Fprintln(&x.out, strings.NewReplacer("%(refname)", ref, "%(objectname)", x.now.refs[ref]).Replace(o.value("--format")))
		}
	}
	return nil
}

// log prints commits, the newest first.
func (x *call) log(o *arguments) error {
	from, to, isRange := strings.Cut(o.rest[0], "..")
	if !isRange {
		from, to = "", from
	}
	seen := map[string]bool{}
	if isRange {
		id, err := x.find(from)
		if err == nil {
			seen, err = x.ancestors(id)
		}
		if err != nil {
			return err
		}
	}
	id, err := x.find(to)
	if err != nil {
		return err
	}
	var left []*commit
	add := func(id string) error {
		if seen[id] {
			return nil
		}
		seen[id] = true
		c, err := x.commit(id)
		if err == nil {
			i := slices.IndexFunc(left, func(l *commit) bool { return l.date < c.date })
			if i < 0 {
				i = len(left)
			}
			left = slices.Insert(left, i, c)
		}
		return err
	}
	if err := add(id); err != nil {
		return err
	}
	var lines []string
	for len(left) > 0 && (!o.has("-1") || len(lines) == 0) {
		c := left[0]
		left = left[1:]
		if len(c.parents) < 2 || !o.has("--no-merges") {
			lines = append(lines, c.format(o.value("--format"))+"\n")
		}
		for _, p := range c.parents {
			if err := add(p); err != nil {
				return err
			}
		}
	}
	if o.has("--reverse") {
		slices.Reverse(lines)
	}
	x.out.WriteString(strings.Join(lines, ""))
	return nil
}

func (c *commit) format(text string) string {
	name, rest, _ := strings.Cut(c.author, " <")
	email, date, _ := strings.Cut(rest, "> ")
	return strings.NewReplacer("%n", "\n", "%s", c.subject, "%b", c.detail, "%B", c.message, "%H", c.id, "%P", strings.Join(c.parents, " "), "%T", c.tree,
		"%an", name, "%ae", email, "%ad", date).Replace(text)
}

func (x *call) lsTree(o *arguments) error {
	id, err := x.find(o.rest[0])
	if err != nil {
		return err
	}
	files, err := x.files(id)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&x.out, "%s blob %s\t%s\n", mode, files[name], name)
	}
	return err
}

func (x *call) mkTree(*arguments) error {
	files := map[string]string{}
	for line := range strings.Lines(string(x.Input)) {
		head, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		files[name] = strings.Fields(head)[2]
	}
	fmt.Fprintln(&x.out, x.writeTree(files))
	return nil
}

func (x *call) hashObject(o *arguments) error {
	text := string(x.Input)
	if o.has("-w") {
		x.write("blob", text)
	}
	fmt.Fprintln(&x.out, idOf("blob", text))
	return nil
}

func (x *call) diffTree(o *arguments) error {
	a, err := x.files(o.rest[0])
	if err != nil {
		return err
	}
	b, err := x.files(o.rest[1])
	if err != nil {
		return err
	}
	none := strings.Repeat("0", 40)
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case a[name] == b[name]:
		case a[name] == "":
			fmt.Fprintf(&x.out, ":000000 %s %s %s A\x00%s\x00", mode, none, b[name], name)
		case b[name] == "":
			fmt.Fprintf(&x.out, ":%s 000000 %s %s D\x00%s\x00", mode, a[name], none, name)
		default:
			fmt.Fprintf(&x.out, ":%s %s %s %s M\x00%s\x00", mode, mode, a[name], b[name], name)
		}
	}
	return nil
}

// fetch copies a branch of the remote. The remote has the same objects.
func (x *call) fetch(o *arguments) error {
	from, to, _ := strings.Cut(strings.TrimPrefix(o.rest[1], "+"), ":")
	id := x.now.refs[remotePrefix+from]
	if id == "" {
		return fatal("couldn't find remote ref %s", from)
	}
	x.set(change{to, id}, "reference")
	return nil
}

// push moves a branch of the remote, which has a disk of its own.
func (x *call) push(o *arguments) error {
	from, to, _ := strings.Cut(o.rest[1], ":")
	ref := remotePrefix + to
	now := x.now.refs[ref]
	all, err := x.ancestors(from)
	_, lease, _ := strings.Cut(o.value("--force-with-lease"), ":")
	if err != nil || now != "" && now != from && !o.has("--force") && (o.has("--force-with-lease") && now != lease || !o.has("--force-with-lease") && !all[now]) {
		return &failed{1, "error: failed to push some refs"}
	}
	for id := range all {
		x.durable.objects[id] = x.now.objects[id]
	}
	x.durable.refs[ref], x.now.refs[ref] = from, from
	return nil
}

func (x *call) lsRemote(o *arguments) error {
	if id := x.now.refs[remotePrefix+o.rest[1]]; id != "" {
		fmt.Fprintf(&x.out, "%s\t%s\n", id, o.rest[1])
	}
	return nil
}
