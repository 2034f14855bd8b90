package project

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// modelSetup describes how to connect a new project to the models of a provider.
type modelSetup struct {
	// vendor is the name of the company that the models come from.
	vendor   string
	manifest string // keys of the connection's section, after the key provider
	steps    []step // commands to run before the first run
}

// step is a shell command and its reason.
type step struct{ command, why string }

// modelSetups contains the setups by the provider's name. The scripted provider has none, because
// the templates contain its replies.
var modelSetups = map[string]modelSetup{
	"openai": {"OpenAI", `default_model = "gpt-4o"
api_key_env = "OPENAI_API_KEY"`, []step{{"export OPENAI_API_KEY=…", "your key, from https://platform.openai.com/api-keys"}}},
	"anthropic": {"Anthropic", `default_model = "claude-sonnet-4-5"
api_key_env = "ANTHROPIC_API_KEY"`, []step{{"export ANTHROPIC_API_KEY=…", "your key, from https://console.anthropic.com/settings/keys"}}},
	"gemini": {"Google", `default_model = "gemini-2.5-flash"
api_key_env = "GEMINI_API_KEY"`, []step{{"export GEMINI_API_KEY=…", "your key, from https://aistudio.google.com/apikey"}}},
	"ollama": {"Ollama", `default_model = "llama3.2"`, []step{{"ollama pull llama3.2", "download the model; no key is needed"}}},
	"azure": {"Azure OpenAI", `base_url = "https://NAME.openai.azure.com" # replace NAME by your resource's name
default_model = "gpt-4o"                     # the name of your deployment
api_key_env = "AZURE_OPENAI_API_KEY"`, []step{{"export AZURE_OPENAI_API_KEY=…", "your resource's key; also write its name into Concerto.toml"}}},
	"vertex": {"Google Cloud", `project = "PROJECT" # replace PROJECT by your project's id
location = "us-central1"
default_model = "gemini-2.5-flash"
token_command = ["gcloud", "auth", "print-access-token"]`, []step{{"gcloud auth login", "only once; also write your project's id into Concerto.toml"}}},
	"bedrock": {"Amazon Bedrock", `location = "us-east-1"
default_model = "amazon.nova-lite-v1:0"`, []step{
		{"export AWS_ACCESS_KEY_ID=…", "credentials of AWS that may use the model"},
		{"export AWS_SECRET_ACCESS_KEY=…", "and AWS_SESSION_TOKEN, for credentials that expire"}}},
}

// section returns the keys of a connection for Concerto.toml.
func (m *modelSetup) section(name string) string {
	return fmt.Sprintf("provider = %q\n%s", name, m.manifest)
}

// readme returns the section of the README about setting up the model.
func (m *modelSetup) readme() string {
	var b strings.Builder
	b.WriteString("```\n")
	for _, s := range m.steps {
		fmt.Fprintf(&b, "%s    # %s\n", s.command, s.why)
	}
	b.WriteString("```\n\nKeys are never stored in the project. `concerto run --env .env` reads variables from the file `.env`, which git ignores.\n" +
		"`concerto test` and `concerto run --mock` use no model and need no key.")
	return b.String()
}

// checkProvider returns an error unless name is a provider. The error lists the providers.
func checkProvider(name string) error {
	names := models.ProviderNames(nil)
	if slices.Contains(names, name) {
		return nil
	}
	hint := "for a server with the API of a provider, choose that provider and set `base_url` in Concerto.toml"
	if near := suggest.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return console.Usage(hint, "unknown provider %q; the providers are %s", name, strings.Join(names, ", "))
}

// providerList returns the names of the providers for a flag's help.
func providerList() string { return strings.Join(models.ProviderNames(nil), ", ") }

// projectValues returns the values of the names in the templates of a project.
func projectValues(name, provider string) map[string]string {
	setup, real := modelSetups[provider]
	connection, model := "", ""
	if real {
		connection, model = setup.section(provider), setup.readme()
	}
	priced := "yes"
	if real && !setup.isPriced(provider) {
		priced = ""
	}
	return map[string]string{"name": name, "connection": connection, "vendor": setup.vendor, "model": model, "priced": priced}
}

// isPriced reports whether the price of the default model is known, so that a limit on the cost is
// possible.
func (m *modelSetup) isPriced(provider string) bool {
	_, model, _ := strings.Cut(m.manifest, `default_model = "`)
	model, _, _ = strings.Cut(model, `"`)
	return models.Tariff{Provider: provider}.Price(model, time.Now()) != nil
}

// choice matches a part of a template that depends on whether a name has a value.
var choice = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\{\{if (not )?(\w+)\}\}(.*?)(?:\{\{else\}\}(.*?))?\{\{end\}\}`)
})

// render returns a template in which {{name}} is replaced by the value of name. {{if
// name}}A{{else}}B{{end}} is replaced by A if name has a value, and otherwise by B; {{if not name}}
// is the opposite. {{else}}B is optional.
//
// Package text/template is not used, because it calls methods by their names. A program that
// contains it contains every exported method of every type, and is a fifth larger.
func render(template string, values map[string]string) string {
	template = choice().ReplaceAllStringFunc(template, func(text string) string {
		part := choice().FindStringSubmatch(text)
		if (values[part[2]] == "") == (part[1] == "") {
			return part[4]
		}
		return part[3]
	})
	for name, value := range values {
		template = strings.ReplaceAll(template, "{{"+name+"}}", value)
	}
	return template
}
