//go:build !unix

package main

import "os"

var windowChanged os.Signal
