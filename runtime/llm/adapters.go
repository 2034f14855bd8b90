//go:build !js

package llm

// adapters maps each provider in internal/data/models to a function that opens a connection of
// that provider. The function's error explains the problem of the connection.
var adapters = map[string]func(*Connection, *world) (Provider, error){
	"openai":    openOpenAI,
	"anthropic": openAnthropic,
	"gemini":    openGemini,
	"ollama":    openOllama,
	"azure":     openAzure,
	"vertex":    openVertex,
	"bedrock":   openBedrock,
	"scripted":  openScripted,
}
