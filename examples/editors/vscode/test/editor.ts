// What the extension does in VS Code. VS Code runs this in its extension host; the result is in the
// file that PREADMIT_RESULT names: empty, or what is wrong.

import * as assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import * as vscode from "vscode";

export async function run(): Promise<void> {
  let wrong = "";
  try {
    await session();
  } catch (error) {
    wrong = String(error instanceof Error ? error.stack : error);
  }
  writeFileSync(process.env.PREADMIT_RESULT!, wrong);
}

async function session(): Promise<void> {
  const [folder, other] = vscode.workspace.workspaceFolders!;
  const policy = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder.uri, "policies/team.yaml"));
  await vscode.window.showTextDocument(policy);
  assert.equal(policy.languageId, "yaml");
  await findings(policy, "field-undefined: replica");

  const members = await suggested(policy, placeOf(policy, "replica >"));
  assert.ok(members.includes("replicas"), `no replicas among ${members}`);
  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", policy.uri, placeOf(policy, "spec.replica"));
  assert.match(hovers.map((hover) => hover.contents.map((text) => (text as vscode.MarkdownString).value)).join(), /spec/);

  // Characters of two units of UTF-16.
  await replace(policy, "object.spec.replica", "size('😀😀') > 1 && object.spec.replica");
  await findings(policy, "field-undefined: replica");

  // A text that is not saved counts.
  await replace(policy, "spec.replica ", "spec.replicas ");
  await findings(policy);

  // Another server finds the same.
  await replace(policy, "spec.replicas ", "spec.replica ");
  await findings(policy, "field-undefined: replica");
  await vscode.commands.executeCommand("preadmit.restart");
  await findings(policy, "field-undefined: replica");

  // One server serves all folders of the workspace, which come and go.
  const second = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(other.uri, "policies/team.yaml"));
  await vscode.window.showTextDocument(second);
  await findings(second, "field-undefined: replica");
  assert.ok(vscode.workspace.updateWorkspaceFolders(1, 1));
  await findings(second);
  await findings(policy, "field-undefined: replica");
  assert.ok(vscode.workspace.updateWorkspaceFolders(1, 0, { uri: other.uri }));
  await findings(second, "field-undefined: replica");

  // Without the program, its findings disappear; they are back when the setting is.
  const settings = vscode.workspace.getConfiguration("preadmit");
  for (const path of ["no-such-preadmit", "node", "false"]) {
    await settings.update("path", path, vscode.ConfigurationTarget.Global);
    await findings(policy);
    await settings.update("path", undefined, vscode.ConfigurationTarget.Global);
    await findings(policy, "field-undefined: replica");
  }
}

// findings waits until a document has these diagnostics, each a code with the text that it marks.
async function findings(document: vscode.TextDocument, ...wanted: string[]): Promise<void> {
  const end = Date.now() + 20_000;
  for (;;) {
    const found = vscode.languages.getDiagnostics(document.uri).map((d) => `${String(d.code)}: ${document.getText(d.range)}`);
    if (found.join("\n") === wanted.join("\n")) {
      return;
    }
    assert.ok(Date.now() < end, `findings are [${found}], not [${wanted}]`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function suggested(document: vscode.TextDocument, at: vscode.Position): Promise<string[]> {
  const list = await vscode.commands.executeCommand<vscode.CompletionList>("vscode.executeCompletionItemProvider", document.uri, at);
  return list.items.map((item) => (typeof item.label === "string" ? item.label : item.label.label));
}

function placeOf(document: vscode.TextDocument, text: string): vscode.Position {
  const offset = document.getText().indexOf(text);
  assert.ok(offset >= 0, `there is no ${text}`);
  return document.positionAt(offset);
}

async function replace(document: vscode.TextDocument, before: string, after: string): Promise<void> {
  const from = placeOf(document, before);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(from, from.translate(0, before.length)), after);
  assert.ok(await vscode.workspace.applyEdit(edit));
}
