package effect

// The kinds of file requests. No task yields for them, so that a program sees files change only by
// its own actions, as far as possible.
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

// Paths are as the program wrote them; relative ones start at the working directory. The *Error of
// each request is an FsError with field path.

// ReadFile returns the content of a file, which must be UTF-8, as *FileText.
type ReadFile struct {
	Path string `json:"path"`
}

// FileText is what a file holds.
type FileText struct {
	Text string `json:"text"`
}

// WriteFile replaces the content of a file by Text, or with Append adds Text at
// its end. A file that does not exist is created. Its result is nil.
type WriteFile struct {
	Path   string `json:"path"`
	Text   string `json:"text"`
	Append bool   `json:"append,omitempty"`
}

// FileInfo returns what is at a path as a *FileStatus. It only fails if that is not permitted.
type FileInfo struct {
	Path string `json:"path"`
}

// FileStatus describes what is at a path; Size, in bytes, is a file's.
type FileStatus struct {
	Exists bool  `json:"exists"`
	IsDir  bool  `json:"is_dir,omitempty"`
	Size   int64 `json:"size,omitempty"`
}

// ListDir returns the sorted names in a directory as *FileNames.
type ListDir struct {
	Path string `json:"path"`
}

// FileNames are names or paths of files.
type FileNames struct {
	Names []string `json:"names"`
}

// RemoveFile removes a file, no directory. Its result is nil.
type RemoveFile struct {
	Path string `json:"path"`
}

// MakeDir makes a directory and those above it. A directory that exists is left
// as it is. Its result is nil.
type MakeDir struct {
	Path string `json:"path"`
}

// CopyFile makes Path hold what the file From holds. Its result is nil.
type CopyFile struct {
	From string `json:"from"`
	Path string `json:"path"`
}

// MoveFile makes the file or directory From be at Path. Its result is nil.
type MoveFile struct {
	From string `json:"from"`
	Path string `json:"path"`
}

// Glob returns the sorted paths that match a pattern as *FileNames.
type Glob struct {
	Pattern string `json:"pattern"`
}

// Walk finds all files below a directory and returns their paths as *FileNames,
// sorted.
type Walk struct {
	Path string `json:"path"`
}

// TempDir returns *FileNames with the path of a directory that is removed when the run ends. The
// first request of a run creates it.
type TempDir struct{}

// Kind is KindReadFile.
func (*ReadFile) Kind() Kind { return KindReadFile }

// Kind is KindWriteFile.
func (*WriteFile) Kind() Kind { return KindWriteFile }

// Kind is KindFileInfo.
func (*FileInfo) Kind() Kind { return KindFileInfo }

// Kind is KindListDir.
func (*ListDir) Kind() Kind { return KindListDir }

// Kind is KindRemoveFile.
func (*RemoveFile) Kind() Kind { return KindRemoveFile }

// Kind is KindMakeDir.
func (*MakeDir) Kind() Kind { return KindMakeDir }

// Kind is KindCopyFile.
func (*CopyFile) Kind() Kind { return KindCopyFile }

// Kind is KindMoveFile.
func (*MoveFile) Kind() Kind { return KindMoveFile }

// Kind is KindGlob.
func (*Glob) Kind() Kind { return KindGlob }

// Kind is KindWalk.
func (*Walk) Kind() Kind { return KindWalk }

// Kind is KindTempDir.
func (*TempDir) Kind() Kind { return KindTempDir }
