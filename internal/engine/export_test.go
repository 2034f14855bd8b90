package engine

import "reflect"

// ToolForm is the type into which a tool's keys are decoded.
var ToolForm = reflect.TypeFor[toolForm]()
