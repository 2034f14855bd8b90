package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// The effects of files. Paths are Strings.

func init() {
	onPath := func(request func(path string) effect.Request, give func(effect.Result) (value.Slot, error)) *performing {
		return &performing{
			request: func(_ *task, a *Args) (effect.Request, error) { return request(a.String(0)), nil },
			value:   give,
		}
	}
	performs["fs.read"] = onPath(
		func(p string) effect.Request { return &effect.ReadFile{Path: p} },
		func(r effect.Result) (value.Slot, error) { return value.String(r.(*effect.FileText).Text), nil })
	performs["fs.info"] = onPath(func(p string) effect.Request { return &effect.FileInfo{Path: p} }, fileStatus)
	performs["fs.list"] = onPath(func(p string) effect.Request { return &effect.ListDir{Path: p} }, fileNames)
	performs["fs.glob"] = onPath(func(p string) effect.Request { return &effect.Glob{Pattern: p} }, fileNames)
	performs["fs.remove"] = onPath(func(p string) effect.Request { return &effect.RemoveFile{Path: p} }, nothing)
	performs["fs.make_dir"] = onPath(func(p string) effect.Request { return &effect.MakeDir{Path: p} }, nothing)
	performs["fs.copy"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.CopyFile{From: a.String(0), Path: a.String(1)}, nil
		},
		value: nothing,
	}
	performs["fs.move"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.MoveFile{From: a.String(0), Path: a.String(1)}, nil
		},
		value: nothing,
	}
	// fs.write(path, text, append)
	performs["fs.write"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.WriteFile{Path: a.String(0), Text: a.String(1), Append: a.Bool(2)}, nil
		},
		value: nothing,
	}
	performs["fs.temp_dir"] = &performing{
		request: func(*task, *Args) (effect.Request, error) { return &effect.TempDir{}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			return value.String(r.(*effect.FileNames).Names[0]), nil
		},
	}
}

// fileStatus is (exists, is_dir, size).
func fileStatus(r effect.Result) (value.Slot, error) {
	s := r.(*effect.FileStatus)
	return value.Tuple(value.Bool(s.Exists), value.Bool(s.IsDir), value.Int(s.Size)), nil
}

func fileNames(r effect.Result) (value.Slot, error) {
	return value.StringArray(r.(*effect.FileNames).Names), nil
}
