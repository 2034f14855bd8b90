package llm

// adapters maps each provider in internal/data/models to a function that opens a connection of
// that provider. The function's error explains the problem of the connection. The servers of the
// other providers do not answer pages.
var adapters = map[string]func(*Connection, *world) (Provider, error){
	"openai":    openOpenAI,
	"anthropic": openAnthropic,
	"gemini":    openGemini,
	"ollama":    openOllama,
	"scripted":  openScripted,
}
