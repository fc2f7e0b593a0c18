// The life of the extension: one language server for all folders of the workspace.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { problem, server, type Settings } from "./server";

let client: LanguageClient | undefined;

// starting is the last start or stop. Each one waits for the one before it.
let starting: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("preadmit.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("preadmit.path") || event.affectsConfiguration("preadmit.arguments")) {
        void restart();
      }
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => {
      if (!client) {
        void restart(); // the first folder; the client tells the server about others
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await restart();
}

export function deactivate(): Promise<void> {
  return next(stop);
}

function restart(): Promise<void> {
  return next(async () => {
    await stop();
    await start();
  });
}

function next(step: () => Promise<void>): Promise<void> {
  starting = starting.then(step).catch((error: unknown) => {
    void vscode.window.showErrorMessage(`preadmit: ${error instanceof Error ? error.message : error}`);
  });
  return starting;
}

async function stop(): Promise<void> {
  const stopped = client;
  client = undefined;
  await stopped?.dispose();
}

async function start(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file");
  if (!folder) {
    return;
  }
  const configuration = vscode.workspace.getConfiguration("preadmit", folder.uri);
  const settings: Settings = { path: configuration.get("path", "preadmit"), arguments: configuration.get("arguments", []) };
  const why = await problem(settings, folder.uri.fsPath);
  if (why) {
    void report(why);
    return;
  }
  client = new LanguageClient("preadmit", "preadmit", server(settings, folder.uri.fsPath), {
    documentSelector: [{ scheme: "file", language: "yaml" }],
  });
  await client.start();
}

// report says why there is no language server. It does not wait for an answer.
async function report(why: string): Promise<void> {
  const settings = "Open Settings";
  if ((await vscode.window.showErrorMessage(`preadmit: ${why}`, settings)) === settings) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "preadmit.path");
  }
}
