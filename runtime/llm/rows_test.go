package llm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// TestEveryRow sends requests of each kind to a model of each row of the table, and to one without
// a row, on each API of its providers. The server refuses what the row states that the model
// refuses.
func TestEveryRow(t *testing.T) {
	calls := map[string]effect.AgentCall{"text": {}, "tools": {Tools: []effect.ToolSpec{{Name: "f", Parameters: []byte(`{"type":"object"}`)}}}}
	for name, c := range calls {
		c.Schema, c.SchemaName = []byte(number), "N"
		calls[name+" and schema"] = c
		c.Schema = []byte(`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}},"o":{"type":"string","maxLength":9}},"required":["m"],"additionalProperties":false}`)
		calls[name+" and map"] = c
		c.Schema = []byte(`{"type":"object","properties":{"next":{"$ref":"#"}},"required":[],"additionalProperties":false}`)
		calls[name+" and tree"] = c
	}
	apis := map[string][]string{"openai": {"responses", "openai", "azure", "azure chat"}, "gemini": {"gemini", "vertex"}, "anthropic": {"anthropic"}, "bedrock": {"bedrock"}, "ollama": {"ollama"}}
	rows := models.Rows()
	for provider := range apis {
		rows = append(rows, models.Model{Provider: provider, Pattern: "unknown"})
	}
	seen := 0
	for _, row := range rows {
		model := strings.NewReplacer("[0-9]", "3", "*", "x").Replace(strings.TrimSuffix(row.Pattern, "*"))
		if row.Provider == "bedrock" && strings.HasPrefix(model, "claude") {
			model = "us.anthropic." + strings.TrimSuffix(model, "-") + "-v1:0"
		}
		known := models.Lookup(row.Provider, model)
		efforts := append(known.Efforts(), "")
		for _, api := range apis[row.Provider] {
			seen++
			t.Run(api+" "+model, func(t *testing.T) {
				t.Parallel()
				s, conn := server(t, api, modelserver.Reply{JSON: []byte(`{"n":1}`), Text: "x", Repeat: true})
				if api == "openai" || api == "responses" {
					like := fmt.Sprintf(`{"provider":"openai","model_settings":{%q:{"like":%[1]q}}}`, model)
					settings, err := ParseConnection("", []byte(like))
					if err != nil {
						t.Fatal(err)
					}
					conn.ModelSettings = settings.ModelSettings
				}
				cl, _ := client(t, conn)
				for name, c := range calls {
					for _, effort := range efforts {
						isChat := api == "openai" || api == "azure chat"
						if api == "bedrock" && effort != "" || isChat && !known.ChatAccepts(len(c.Tools) > 0, effort) {
							continue
						}
						c.Model, c.Effort = model, effort
						if _, err := ask(cl, c); err != nil {
							t.Errorf("%s, effort %q: %v", name, effort, err)
						}
						if _, _, err := streamed(t.Context(), cl, c); err != nil {
							t.Errorf("%s, effort %q, streamed: %v", name, effort, err)
						}
					}
				}
				published(t, s)
			})
		}
	}
	if seen < 60 {
		t.Errorf("%d models were tested", seen)
	}
}
