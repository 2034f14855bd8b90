package engine

import "reflect"

// ToolForm is what a tool's keys are read into.
var ToolForm = reflect.TypeFor[toolForm]()
