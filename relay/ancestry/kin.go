// Package ancestry knows whose children processes are (its API promises nothing).
package ancestry
