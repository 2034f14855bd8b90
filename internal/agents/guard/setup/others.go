package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

const openCodePlugin = "concerto-guard.js"

// plugin returns the plugin of OpenCode. A call runs only after the hook has ended with exit code
// 0.
func plugin(program string) string {
	name, _ := json.Marshal(program) // a text has a JSON form
	return strings.Replace(pluginText, "PROGRAM", string(name), 1)
}

const pluginText = `// Written by "concerto guard install": Concerto decides about each call of a tool.
import { spawn } from "node:child_process"

function ask(event, input, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, ["guard", "hook", "opencode"], { stdio: ["pipe", "ignore", "pipe"] })
    let reason = ""
    child.stderr.on("data", (text) => (reason += text))
    child.stdin.on("error", () => {})
    child.on("error", (e) => reject(new Error("concerto guard failed, so this call is refused: " + e.message)))
    child.on("close", (code) => {
      if (code === 0) resolve()
      else reject(new Error(reason.trim() || "concerto guard failed, so this call is refused"))
    })
    child.stdin.end(
      JSON.stringify({ hook_event_name: event, session_id: input.sessionID, tool_use_id: input.callID, tool_name: input.tool, tool_input: args, cwd }),
    )
  })
}

export const ConcertoGuard = async ({ directory }) => ({
  "tool.execute.before": (input, output) => ask("PreToolUse", input, output.args, directory),
  "tool.execute.after": (input) => ask("PostToolUse", input, input.args, directory),
})
`

func openCodeSettings(a *Agent, p *Place, l Level) ([]file, error) {
	path := filepath.Join(p.Home, ".config", "opencode", "plugin", openCodePlugin)
	if dir := p.Getenv("OPENCODE_CONFIG_DIR"); dir != "" {
		path = filepath.Join(dir, "plugin", openCodePlugin)
	} else if dir := p.Getenv("XDG_CONFIG_HOME"); dir != "" {
		path = filepath.Join(dir, "opencode", "plugin", openCodePlugin)
	}
	switch l {
	case Project:
		path = filepath.Join(p.Dir, ".opencode", "plugin", openCodePlugin)
	case System:
		return nil, fmt.Errorf("%s has no settings of the system", a.Title)
	}
	return []file{{path, func(text []byte) ([]byte, []string, error) {
		if len(text) > 0 {
			return nil, nil, errors.New("the file exists and is not of an installation that was recorded: remove it first")
		}
		all := plugin(p.program(l))
		return []byte(all), []string{all}, nil
	}}}, nil
}

func openCodeProbe() probing {
	return probing{
		env: func(t *trial, _ *Place, environ []string) ([]string, error) {
			config := map[string]any{
				"model": "concerto/m", "small_model": "concerto/m", "autoupdate": false, "share": "disabled",
				"provider": map[string]any{"concerto": map[string]any{"npm": "@ai-sdk/openai-compatible", "options": map[string]any{"baseURL": t.model.URL + "/v1", "apiKey": "k"}, "models": map[string]any{"m": map[string]any{}}}},
			}
			for _, v := range environ { // the variable of guard run
				if text, ok := strings.CutPrefix(v, "OPENCODE_CONFIG_CONTENT="); ok {
					_ = json.Unmarshal([]byte(text), &config) // launchOpenCode has encoded it
				}
			}
			text, err := json.Marshal(config)
			return []string{"OPENCODE_CONFIG_CONTENT=" + string(text), "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}, err
		},
		args: func(string) []string { return []string{"run", "check the guard"} },
		main: `"name":"bash"`,
		command: func(command string) modelserver.Call {
			return call("bash", map[string]string{"command": command, "description": "check the guard"})
		},
		write: func(path string) modelserver.Call {
			return call("write", map[string]string{"filePath": path, "content": "written\n"})
		},
	}
}

func geminiProbe() probing {
	return probing{
		env:  geminiEnv,
		args: func(string) []string { return []string{"-y", "-m", "gemini-2.5-pro", "-p", "check the guard"} },
		main: `"run_shell_command"`,
		command: func(command string) modelserver.Call {
			return call("run_shell_command", map[string]string{"command": command, "description": "check the guard"})
		},
		write: func(path string) modelserver.Call {
			return call("run_shell_command", map[string]string{"command": "mkdir -p " + quote(filepath.Dir(path)) + " && touch " + quote(path), "description": "check the guard"})
		},
	}
}

// geminiEnv returns the variables of a home directory whose settings are those of the user, with
// the login by a key: Gemini CLI ignores the address of the model with another login.
func geminiEnv(t *trial, p *Place, _ []string) ([]string, error) {
	settings := map[string]any{}
	_, text, err := readSettings(filepath.Join(p.Home, ".gemini", "settings.json"))
	if err == nil && text != nil {
		if text, err = hujson.Standardize(text); err == nil {
			err = json.Unmarshal(text, &settings)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("~/.gemini/settings.json: %w", err)
	}
	security, _ := settings["security"].(map[string]any)
	if security == nil {
		security = map[string]any{}
		settings["security"] = security
	}
	security["auth"] = map[string]any{"selectedType": "gemini-api-key"}
	if text, err = json.Marshal(settings); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(t.tmp, ".gemini", "settings.json"), text, 0o600); err != nil {
		return nil, err
	}
	if _, trusted, err := readSettings(filepath.Join(p.Home, ".gemini", "trustedFolders.json")); err != nil {
		return nil, err
	} else if trusted != nil {
		if err := writeFile(filepath.Join(t.tmp, ".gemini", "trustedFolders.json"), trusted, 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + t.model.URL, "GEMINI_CLI_HOME=" + t.tmp, "GEMINI_CLI_TRUST_WORKSPACE=true"}, nil // as if the folder is trusted
}

// geminiEscapes returns which settings of the project remove the hooks.
func geminiEscapes(p *Place) (out []string) {
	path := filepath.Join(p.Dir, ".gemini", "settings.json")
	_, text, err := readSettings(path)
	if err == nil && text != nil {
		text, err = hujson.Standardize(text)
	}
	var s struct {
		Config struct {
			Enabled  *bool    `json:"enabled"`
			Disabled []string `json:"disabled"`
		} `json:"hooksConfig"`
	}
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s)
	}
	switch {
	case err != nil:
		out = append(out, fmt.Sprintf("%s: %v", path, err))
	case s.Config.Enabled != nil && !*s.Config.Enabled:
		out = append(out, path+": `hooksConfig.enabled` removes the hooks, if the folder is trusted")
	case slices.Contains(s.Config.Disabled, geminiHook):
		out = append(out, path+": `hooksConfig.disabled` removes the hook "+geminiHook+", if the folder is trusted")
	}
	return out
}

// geminiHook is the name of the hook in Gemini CLI's settings.
const geminiHook = "concerto-guard"

func copilotProbe() probing {
	return probing{
		env: func(t *trial, _ *Place, _ []string) ([]string, error) {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + t.model.URL + "/v1", "COPILOT_PROVIDER_API_KEY=k", "COPILOT_MODEL=gpt-5.5"}, nil
		},
		args: func(string) []string { return []string{"--allow-all-tools", "-p", "check the guard"} },
		main: `"name":"bash"`,
		command: func(command string) modelserver.Call {
			return call("bash", map[string]string{"command": command, "description": "check the guard"})
		},
		write: func(path string) modelserver.Call {
			return call("create", map[string]string{"path": path, "file_text": "written\n"})
		},
	}
}
