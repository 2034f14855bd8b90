package effect

// The kinds of file requests. A task does not yield during such a request, so that other tasks of
// the program cannot change files at the same time.
const (
	KindReadFile   Kind = "fs.read"
	KindWriteFile  Kind = "fs.write"
	KindFileInfo   Kind = "fs.info"
	KindListDir    Kind = "fs.list"
	KindRemoveFile Kind = "fs.remove"
	KindMakeDir    Kind = "fs.make_dir"
	KindCopyFile   Kind = "fs.copy"
	KindMoveFile   Kind = "fs.move"
	KindGlob       Kind = "fs.glob"
	KindWalk       Kind = "fs.walk"
	KindTempDir    Kind = "fs.temp_dir"
	KindAttachFile Kind = "fs.attach"
)

// Paths are as the program wrote them. Relative paths start at the working directory. The *Error of
// each request is an FsError with the field path.

// ReadFile returns the content of a file as a *FileText. The content must be UTF-8.
type ReadFile struct {
	Path string `json:"path"`
}

// FileText is the content of a file.
type FileText struct {
	Text string `json:"text"`
}

// WriteFile replaces the content of a file by Text, or appends Text if Append is set. It creates
// the file if necessary. Its result is nil.
type WriteFile struct {
	Path   string `json:"path"`
	Text   string `json:"text"`
	Append bool   `json:"append,omitempty"`
}

// FileInfo returns information about a path as a *FileStatus. It fails only if that is not
// permitted.
type FileInfo struct {
	Path string `json:"path"`
}

// FileStatus describes a path. Size is the size of a file in bytes.
type FileStatus struct {
	Exists bool  `json:"exists"`
	IsDir  bool  `json:"is_dir,omitempty"`
	Size   int64 `json:"size,omitempty"`
}

// ListDir returns the sorted names in a directory as *FileNames.
type ListDir struct {
	Path string `json:"path"`
}

// FileNames contains names or paths of files.
type FileNames struct {
	Names []string `json:"names"`
}

// RemoveFile removes a file, but not a directory. Its result is nil.
type RemoveFile struct {
	Path string `json:"path"`
}

// MakeDir creates a directory and its parents. An existing directory is not an error. Its result is
// nil.
type MakeDir struct {
	Path string `json:"path"`
}

// CopyFile copies the content of the file From to Path. Its result is nil.
type CopyFile struct {
	From string `json:"from"`
	Path string `json:"path"`
}

// MoveFile moves the file or directory From to Path. Its result is nil.
type MoveFile struct {
	From string `json:"from"`
	Path string `json:"path"`
}

// Glob returns the sorted paths that match a pattern as *FileNames.
type Glob struct {
	Pattern string `json:"pattern"`
}

// Walk returns the sorted paths of all files below a directory as *FileNames.
type Walk struct {
	Path string `json:"path"`
}

// TempDir returns the path of a temporary directory as *FileNames. The first request creates the
// directory. It is removed when the run ends.
type TempDir struct{}

// Kind returns KindReadFile.
func (*ReadFile) Kind() Kind { return KindReadFile }

// Kind returns KindWriteFile.
func (*WriteFile) Kind() Kind { return KindWriteFile }

// Kind returns KindFileInfo.
func (*FileInfo) Kind() Kind { return KindFileInfo }

// Kind returns KindListDir.
func (*ListDir) Kind() Kind { return KindListDir }

// Kind returns KindRemoveFile.
func (*RemoveFile) Kind() Kind { return KindRemoveFile }

// Kind returns KindMakeDir.
func (*MakeDir) Kind() Kind { return KindMakeDir }

// Kind returns KindCopyFile.
func (*CopyFile) Kind() Kind { return KindCopyFile }

// Kind returns KindMoveFile.
func (*MoveFile) Kind() Kind { return KindMoveFile }

// Kind returns KindGlob.
func (*Glob) Kind() Kind { return KindGlob }

// Kind returns KindWalk.
func (*Walk) Kind() Kind { return KindWalk }

// Kind returns KindTempDir.
func (*TempDir) Kind() Kind { return KindTempDir }
