// Package ancestry determines the parents of processes. The compatibility promise does not cover
// its API.
package ancestry
