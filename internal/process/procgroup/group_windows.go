package procgroup

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A process and its descendants form a job object. The system ends them when this process closes
// the job or exits, even if it is killed
// (learn.microsoft.com/windows/win32/procthread/job-objects).

type groupSignal int

const (
	termSignal groupSignal = iota // CTRL_BREAK, which a process may handle
	killSignal                    // termination of the job
)

// killedCode is the exit code of processes whose job was terminated: 128 and the number of SIGKILL.
const killedCode = 128 + 9

// jobs contains the job objects of the running groups by the process numbers of their leaders, and
// those of commands that are about to start.
var jobs = struct {
	sync.Mutex
	running  map[int]windows.Handle
	starting map[*exec.Cmd]windows.Handle
}{running: map[int]windows.Handle{}, starting: map[*exec.Cmd]windows.Handle{}}

// setGroup creates the job of a command. The command starts suspended, so that none of its
// descendants is outside of the job.
func setGroup(cmd *exec.Cmd, c *Command) error {
	if c.Isolated || c.PrivateMounts {
		return errors.New("only Linux supports namespaces")
	}
	if err := checkBatch(cmd.Path, cmd.Args[1:]); err != nil {
		return err
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if !c.Finishes {
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		_ = windows.CloseHandle(job) // the first error is returned
		return os.NewSyscallError("SetInformationJobObject", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED, HideWindow: true}
	jobs.Lock()
	defer jobs.Unlock()
	jobs.starting[cmd] = job
	return nil
}

// exhausted reports whether a start failed because the system ran out of handles or memory.
func exhausted(err error) bool {
	return errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES) || errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY) || errors.Is(err, windows.ERROR_NO_SYSTEM_RESOURCES)
}

// signalGroup ends a group. It ignores errors, which mean that the group has no member, or that its
// processes have no console and cannot receive CTRL_BREAK.
func signalGroup(leader int, s groupSignal) {
	if s == termSignal {
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(leader))
		return
	}
	jobs.Lock()
	defer jobs.Unlock()
	if job, found := jobs.running[leader]; found {
		_ = windows.TerminateJobObject(job, killedCode)
	}
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	totalUserTime, totalKernelTime, periodUserTime, periodKernelTime int64
	pageFaults, processes, active, terminated                        uint32
}

// groupAlive reports whether a process of the group has not exited. Once it has returned false, the
// job is closed.
func groupAlive(leader int) bool {
	jobs.Lock()
	defer jobs.Unlock()
	job, found := jobs.running[leader]
	if !found {
		return false
	}
	var a jobAccounting
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	if err == nil && a.active > 0 {
		return true
	}
	delete(jobs.running, leader)
	_ = windows.CloseHandle(job) // the job has no process
	return false
}

type ended struct{ state *os.ProcessState }

func (e ended) exit() Exit { return Exit{Code: e.state.ExitCode()} }

type children struct{}

var ours children

// startProcess starts a suspended command, adds it to its job and resumes it.
func (children) startProcess(cmd *exec.Cmd) (int, <-chan ended, error) {
	jobs.Lock()
	job := jobs.starting[cmd]
	delete(jobs.starting, cmd)
	jobs.Unlock()
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job) // the first error is returned
		return 0, nil, err
	}
	pid := cmd.Process.Pid
	if err := resumeInJob(job, uint32(pid)); err != nil {
		_ = cmd.Process.Kill() // the first error is returned
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return 0, nil, err
	}
	jobs.Lock()
	jobs.running[pid] = job
	jobs.Unlock()
	end := make(chan ended, 1)
	go func() {
		_ = cmd.Wait() // the process state contains the exit code
		end <- ended{cmd.ProcessState}
	}()
	return pid, end, nil
}

// resumeInJob adds a suspended process to a job, and resumes its only thread.
func resumeInJob(job windows.Handle, pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer func() { _ = windows.CloseHandle(all) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(all, &entry); err == nil; err = windows.Thread32Next(all, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		_, err = windows.ResumeThread(thread)
		return errors.Join(os.NewSyscallError("ResumeThread", err), windows.CloseHandle(thread))
	}
	return os.NewSyscallError("Thread32Next", err)
}

// pipeEnd has no state: reading asks the pipe how much it contains.
type pipeEnd struct{}

func (o *output) open() {}

// Pauses between two checks of an empty pipe. A wait for data cannot be ended, so that a read only
// starts when there is data.
const (
	firstPause = 200 * time.Microsecond
	lastPause  = 10 * time.Millisecond
)

// readWait waits for data and reads it. It returns os.ErrDeadlineExceeded while reading must not
// wait.
func (o *output) readWait(b []byte) (int, error) {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		if n, err := o.readNow(b); n > 0 || err != nil {
			return n, err
		}
		o.mu.Lock()
		mustNotWait := o.exited || o.stopped
		o.mu.Unlock()
		if mustNotWait {
			return 0, os.ErrDeadlineExceeded
		}
		time.Sleep(wait)
	}
}

// readNow reads without waiting. It returns 0 and nil if the pipe is empty, and io.EOF at its end.
func (o *output) readNow(b []byte) (int, error) {
	o.count.Lock()
	defer o.count.Unlock()
	switch n := InPipe(o.f); {
	case n < 0:
		return 0, io.EOF
	case n == 0 || len(b) == 0:
		return 0, nil
	}
	n, err := o.f.Read(b)
	o.bytesRead += int64(n)
	return n, err
}

type input struct{}

func newInput(*os.File) *input { return nil }

// writeNow returns 0, because a write to a pipe waits on this system.
func (*input) writeNow([]byte) int { return 0 }
