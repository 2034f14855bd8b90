package engine

import "reflect"

// ToolForm is the type into which the keys of a tool are decoded.
var ToolForm = reflect.TypeFor[toolForm]()
