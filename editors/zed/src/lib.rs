//! Starts `concerto lsp` for Zed.

use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct Concerto;

impl zed::Extension for Concerto {
    fn new() -> Self {
        Concerto
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let command = worktree.which("concerto").ok_or_else(|| {
            "`concerto` is not installed: go install github.com/concerto-lang/concerto/cmd/concerto@latest".to_string()
        })?;
        Ok(Command {
            command,
            args: vec!["lsp".to_string()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Concerto);
