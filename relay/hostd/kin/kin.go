// Package kin knows whose children processes are (its API promises nothing).
package kin
