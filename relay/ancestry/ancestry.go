// Package ancestry determines the parents of processes.
package ancestry
