package store

// Statement returns the SQL text of a query of the history.
func (q HistoryQuery) Statement() (text string, args []any) { return q.statement() }
