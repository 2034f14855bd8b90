package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// fsNatives contains the natives that request effects on files. Paths are Strings.
var fsNatives = native.Table{
	{"fs.read", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.ReadFile{Path: a.String(0)}, fileText) }},
	{"fs.info", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.FileInfo{Path: a.String(0)}, fileStatus) }},
	{"fs.list", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.ListDir{Path: a.String(0)}, fileNames) }},
	{"fs.glob", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Glob{Pattern: a.String(0)}, fileNames) }},
	{"fs.walk", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Walk{Path: a.String(0)}, fileNames) }},
	{"fs.remove", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.RemoveFile{Path: a.String(0)}, vm.Nothing) }},
	{"fs.make_dir", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.MakeDir{Path: a.String(0)}, vm.Nothing) }},
	{"fs.copy", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.CopyFile{From: a.String(0), Path: a.String(1)}, vm.Nothing)
	}},
	{"fs.move", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.MoveFile{From: a.String(0), Path: a.String(1)}, vm.Nothing)
	}},
	{"fs.write", func(a *vm.Args) (value.Slot, error) { // (path, text, append)
		return a.Ask(&effect.WriteFile{Path: a.String(0), Text: a.String(1), Append: a.Bool(2)}, vm.Nothing)
	}},
	{"fs.attach", func(a *vm.Args) (value.Slot, error) { // (path, type of the file)
		t := a.Type(1)
		return a.Ask(&effect.AttachFile{Path: a.String(0)}, func(r effect.Result) (value.Slot, error) {
			f := r.(*effect.AttachedFile)
			return native.Record(t, native.Field{"name", value.String(f.Name)}, native.Field{"type", value.String(f.Type)}, native.Field{"size", value.Int(f.Size)},
				native.Field{"sha256", value.String(f.SHA256)}, native.Field{"data", value.String(f.Data)}), nil
		})
	}},
	{"fs.temp_dir", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.TempDir{}, func(r effect.Result) (value.Slot, error) {
			return value.String(r.(*effect.FileNames).Names[0]), nil
		})
	}},
}

func fileText(r effect.Result) (value.Slot, error) {
	return value.String(r.(*effect.FileText).Text), nil
}

// fileStatus converts the status of a file to (exists, is_dir, size).
func fileStatus(r effect.Result) (value.Slot, error) {
	s := r.(*effect.FileStatus)
	return value.Tuple(value.Bool(s.Exists), value.Bool(s.IsDir), value.Int(s.Size)), nil
}

func fileNames(r effect.Result) (value.Slot, error) {
	return value.StringArray(r.(*effect.FileNames).Names), nil
}
