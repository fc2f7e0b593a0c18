// How the language server is started.

import { execFile } from "node:child_process";
import type { Executable } from "vscode-languageclient/node";

/** What the settings of the editor say. */
export interface Settings {
  /** A name that is looked up in PATH, or a path. */
  path: string;
  /** Arguments of the command lsp. */
  arguments: string[];
}

/** The process of the language server for a directory. */
export function server(settings: Settings, directory: string): Executable {
  return { command: settings.path, args: ["lsp", ...settings.arguments], options: { cwd: directory } };
}

/** Says why the program cannot serve; "" if it can. */
export function problem(settings: Settings, directory: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(settings.path, ["lsp", "--help"], { cwd: directory, timeout: 20_000 }, (error, help) => {
      if (!error && help.includes("Language Server Protocol")) {
        resolve("");
      } else if (error?.code === "ENOENT") {
        resolve(`${settings.path} is not in PATH. Install preadmit, or name the program in the setting preadmit.path.`);
      } else if (!error || typeof error.code === "number") {
        resolve(`${settings.path} has no language server: it is another program, or an old version of preadmit.`);
      } else {
        resolve(`${settings.path} cannot be started: ${error.message}`);
      }
    });
  });
}
