package ir

// The members of declarations.

func (c *codec) connection(x *Connection) {
	c.object(func() {
		c.str("name", &x.Name)
		c.raw("config", &x.Config)
	})
}

func (c *codec) agent(a *Agent) {
	c.object(func() {
		c.str("name", &a.Name)
		c.optStr("connection", &a.Connection)
		c.optStr("model", &a.Model)
		c.optStr("system", &a.System)
		pointer(c, "temperature", &a.Temperature, c.float)
		pointer(c, "top_p", &a.TopP, c.float)
		pointer(c, "max_tokens", &a.MaxTokens, c.int64)
		pointer(c, "seed", &a.Seed, c.int64)
		c.optStr("reasoning_effort", &a.Effort)
		list(c, "stop", &a.Stop, false, c.strElem)
		list(c, "tools", &a.Tools, false, c.intElem)
		pointer(c, "app_tools", &a.AppTools, c.texts)
		c.int("memory", &a.Memory)
		list(c, "knowledge", &a.Knowledge, false, c.intElem)
		c.optFloat("timeout", &a.Timeout)
		c.optInt64("max_tool_rounds", &a.MaxToolRounds)
		c.optInt64("max_tool_calls", &a.MaxToolCalls)
		c.optInt64("schema_attempts", &a.SchemaAttempts)
		pointer(c, "retry", &a.Retry, c.retry)
		pointer(c, "on_tool_error", &a.OnToolError, c.int)
		pointer(c, "decorator", &a.Decorator, c.int)
		pointer(c, "streamed", &a.Streamed, c.int)
	})
}

func (c *codec) retry(name string, r *Retry) {
	if c.member(name) {
		c.object(func() {
			c.int64("max_attempts", &r.MaxAttempts)
			c.str("backoff", &r.Backoff)
			c.int64("initial_delay_ms", &r.InitialDelay)
			c.int64("max_delay_ms", &r.MaxDelay)
		})
		c.done()
	}
}

// texts writes or reads a list of strings that is written even if it is empty.
func (c *codec) texts(name string, p *[]string) { wholeList(c, name, p, false, c.strElem) }

func (c *codec) host(h *Host) {
	c.object(func() {
		c.str("name", &h.Name)
		c.optStr("connector", &h.Connector)
		c.raw("params", &h.Params)
		c.raw("config", &h.Config)
		c.flat(hostKeys, &h.Config)
		list(c, "tools", &h.Tools, false, c.intElem)
		pointer(c, "app_tools", &h.AppTools, c.texts)
		pointer(c, "decorator", &h.Decorator, c.int)
	})
}

func (c *codec) server(s *Server) {
	c.object(func() {
		c.str("name", &s.Name)
		c.raw("config", &s.Config)
		c.flat(serverKeys, &s.Config)
	})
}

func (c *codec) mergeQueue(q *MergeQueue) {
	c.object(func() {
		c.str("name", &q.Name)
		c.raw("config", &q.Config)
	})
}

func (c *codec) appTool(t *AppTool) {
	c.object(func() {
		c.str("name", &t.Name)
		c.raw("config", &t.Config)
	})
}

func (c *codec) tool(t *Tool) {
	c.object(func() {
		c.str("name", &t.Name)
		c.optStr("server", &t.Server)
		c.flag("public", &t.Public)
		c.optStr("description", &t.Description)
		c.int("state", &t.State)
		c.int("init", &t.Init)
		list(c, "methods", &t.Methods, false, c.toolMethod)
		pointer(c, "list", &t.List, c.int)
		pointer(c, "call", &t.Call, c.int)
	})
}

func (c *codec) pipeline(p *Pipeline) {
	c.object(func() {
		if c.member("run") {
			c.toolMethod(&p.Run)
			c.done()
		}
		c.int("stages", &p.Stages)
		c.optStr("withheld", &p.Withheld)
	})
}

func (c *codec) toolMethod(m *ToolMethod) {
	c.object(func() {
		c.str("name", &m.Name)
		c.optStr("signature", &m.Signature)
		c.optStr("description", &m.Description)
		c.flag("described", &m.Described)
		c.flag("sequential", &m.Sequential)
		c.flag("approve", &m.Approve)
		c.flag("context", &m.Context)
		c.int("function", &m.Function)
		list(c, "params", &m.Params, false, c.toolParam)
		c.int("result", &m.Result)
	})
}

func (c *codec) toolParam(p *ToolParam) {
	c.object(func() {
		c.str("name", &p.Name)
		c.optStr("description", &p.Description)
		c.int("type", &p.Type)
		c.int("default", &p.Default)
	})
}

func (c *codec) store(s *Store) {
	c.object(func() {
		c.str("name", &s.Name)
		c.str("kind", &s.Kind)
		c.optInt("window", &s.Window)
		c.optInt("trim", &s.Trim)
		c.optStr("file", &s.File)
		if s.File != "" && s.Kind == "hashmap" {
			c.int("key", &s.Key)
			c.int("value", &s.Value)
		}
		if s.Kind == "queue" {
			c.int("value", &s.Value)
			c.int64("max_attempts", &s.MaxAttempts)
			c.float("retry_seconds", &s.RetrySeconds)
		}
	})
}
