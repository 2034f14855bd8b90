// Package testproc lets tests wait for processes and files. The processes need not be children of
// the test, and the files are created by other processes.
package testproc
