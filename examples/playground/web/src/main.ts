// main.ts connects the parts of the page.

import type { Completion, Diagnostic, Download, Findings, Hover, NotApplied, Place, Result, Step, Views } from "./answers";
import { Authors } from "./authors";
import { by, h, plural, save, say } from "./dom";
import { Abandoned, Engine, type Progress, Stopped } from "./engine";
import { diagnostics, explanation, ViewsView } from "./explain";
import { type Note, Panel, roleNames } from "./files";
import { ResultView, summary } from "./result";
import { copy, type Example, type File, fromBase64, fromFragment, type Role, same, type State, toFragment } from "./state";

declare const EXAMPLES: Example[];

/** blank is where users begin with files of their own. */
const blank: Example = {
  name: "own", group: "", title: "Your own, from the start", about: "Write, paste or drop your policies and manifests.",
  files: [{ role: "policies", name: "policies/policies.yaml", text: "" }, { role: "manifests", name: "manifests/manifests.yaml", text: "" }], options: {},
};
const examples = [blank, ...EXAMPLES];

const engine = new Engine(showProgress);
const authors = new Authors();
let state: State = { files: [], options: {} };
let result: Result | undefined;
let found: Diagnostic[] = [];
let isLoaded = false;
let pending = new AbortController();
let answers = 0; // number of answers so far; tests wait for the next one

// The panels.

const left: Role[] = ["policies", "trees", "context", "values", "user-info", "webhook-answers"];
const policies = new Panel(by("policies-tabs"), by("policies-editor"), changed, editFile, () => addFile("policies"), { complete, hover });
const manifests = new Panel(by("manifests-tabs"), by("manifests-editor"), changed, editFile, () => addFile("manifests"), { complete, hover });
const output = new ResultView(by("result-editor"), authors, go);
const views = new ViewsView(by("view-editor"), "what policies see");
const pods = new ViewsView(by("pods-editor"), "what the cluster runs");

function go(at: Place) {
  show(policies.files.some((f) => f.name === at.file) ? "policies" : "manifests");
  if (!policies.go(at)) manifests.go(at);
}

/** complete returns what can be written at a position. */
async function complete(at: Place, signal: AbortSignal): Promise<Completion> {
  if (!isLoaded) return { word: "", fields: [] };
  const { value } = await engine.ask<Completion>("complete", state, signal, at);
  return value;
}

/** hovering ends the question about what is at the mouse. */
let hovering = new AbortController();

/** hover returns what is at a position. Only the last question counts. */
async function hover(at: Place): Promise<Hover> {
  hovering.abort();
  hovering = new AbortController();
  if (!isLoaded) return { text: "" };
  const { value } = await engine.ask<Hover>("hover", state, hovering.signal, at);
  return value;
}

/** take shows a state. */
function take(next: State) {
  state = next;
  policies.show(state.files.filter((f) => left.includes(f.role)));
  manifests.show(state.files.filter((f) => !left.includes(f.role)));
  writeOptions();
  describe();
  void evaluate();
}

let typing = 0;
function changed() {
  clearTimeout(typing);
  typing = window.setTimeout(() => {
    describe();
    void remember();
    void evaluate();
  }, 80);
}

let remembering = 0;
/** remember writes the state into the address, so that a reload keeps it. */
async function remember() {
  const turn = ++remembering;
  const fragment = await toFragment(state, examples);
  if (turn === remembering) history.replaceState(null, "", "#" + fragment);
}

// The answers.

async function evaluate() {
  if (!isLoaded) return;
  pending.abort();
  const mine = (pending = new AbortController());
  const asked = copy(state);
  let answered = false;
  document.body.classList.add("busy");
  try {
    const { value, took } = await engine.ask<Result>("explain", asked, mine.signal);
    result = value;
    found = value.report.diagnostics;
    showResult(took);
    answered = true;
    if (!by("view").hidden) await showViews(asked, mine.signal);
    if (!by("pods").hidden) await showPods(asked, mine.signal);
    const checked = await engine.ask<Findings>("check", asked, mine.signal);
    found = union(found, checked.value.findings);
    showFindings();
  } catch (error) {
    if (mine.signal.aborted || error instanceof Abandoned) return;
    if (!(error instanceof Stopped)) showFailure((error as Error).message);
    else if (!answered) showFailure("You stopped it.");
    else say("Stopped: some findings are missing.");
  } finally {
    if (mine === pending) {
      document.body.classList.remove("busy");
      document.body.dataset.answers = String(++answers);
    }
  }
}

const doings: Record<string, string> = {
  explain: "Running the policies", check: "Checking the policies", view: "Reading the manifests", pods: "Making Pods",
  hover: "Checking the policies", test: "Writing the test", page: "Writing the report",
};

/** showProgress shows what the engine does. The bar moves while the number of manifests is known. */
function showProgress(progress?: Progress) {
  by("running").hidden = !progress;
  if (!progress) return;
  const { question, done, total } = progress;
  const bar = by<HTMLProgressElement>("running-bar");
  if (total && done < total) bar.value = done / total;
  else bar.removeAttribute("value");
  const count = total && done < total ? `: ${done} of ${plural(total, "manifest")}` : "";
  by("running-text").textContent = (doings[question] ?? "Working") + count;
}
by("stop").addEventListener("click", () => engine.stop());

async function showPods(asked: State, signal?: AbortSignal) {
  const { value } = await engine.ask<Views>("pods", asked, signal);
  pods.show(value);
  const errors = value.notes.findings.filter((d) => d.severity === "error");
  by("pods-note").textContent = errors.length ? errors[0].message : value.lines.length ? "The objects that Kubernetes' controllers create from the manifests, down to the Pods, as policies change them." : "There are no controllers and no Pods among the manifests.";
}

async function showViews(asked: State, signal?: AbortSignal) {
  const { value } = await engine.ask<Views>("view", asked, signal);
  views.show(value);
  const errors = value.notes.findings.filter((d) => d.severity === "error");
  by("view-note").textContent = errors.length ? errors[0].message : value.lines.length ? "Lines with a bar are not in the manifests: the API server adds them before policies run." : "Policies see none of these manifests.";
}

function union(a: Diagnostic[], b: Diagnostic[]): Diagnostic[] {
  const key = (d: Diagnostic) => JSON.stringify([d.severity, d.code, d.message, d.at]);
  const seen = new Set(a.map(key));
  return [...a, ...b.filter((d) => !seen.has(key(d)))];
}

function showResult(took: number) {
  const r = result!;
  authors.learn(r);
  by("loading").hidden = true;
  by("failure").hidden = true;
  const failed = r.status === "denied" || r.status === "invalid";
  by("refused").hidden = !failed;
  by("blank").hidden = r.status !== "empty";
  by("result-editor").hidden = r.status !== "done";
  by("tools").hidden = r.status !== "done";
  if (failed) {
    by("refused").replaceChildren(
      h("h3", {}, r.status === "denied" ? "A policy denies a manifest, as it would in the cluster." : "No result: there are errors in the input."),
      diagnostics(r.report.diagnostics.filter((d) => d.severity === "error"), go));
  }
  if (r.status === "done") output.show(r);
  by("summary").textContent = { done: summary(r), denied: "Denied", invalid: "No result", empty: "No manifests" }[r.status];
  by("status").dataset.status = r.status;
  by("took").textContent = `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`;
  drawLegend();
  by("explain").replaceChildren(explanation(r, authors, go, (edit) => { pick("result"); output.revealEdit(edit); }));
  showFindings();
}

function showFailure(why: string) {
  by("loading").hidden = true;
  by("failure").hidden = false;
  by("failure").replaceChildren(h("h3", {}, "No answer."), h("p", {}, why), h("p", { class: "soft" }, "Change a file to try again."));
}

function showFindings() {
  by("findings").replaceChildren(diagnostics(found, go));
  const count = found.filter((d) => d.severity !== "info").length;
  const badge = by("findings-count");
  badge.textContent = count ? String(count) : "";
  badge.className = found.some((d) => d.severity === "error") ? "count error" : "count";
  const told = notes();
  for (const panel of [policies, manifests]) {
    const names = new Set(panel.files.map((f) => f.name));
    panel.tell(found.filter((d) => d.at && names.has(d.at.file)), told);
  }
}

/** notes shows the effect of every rule next to it. */
function notes(): Map<string, Note[]> {
  const acted = new Map<string, { at: Place; step: Step; edits: number }>();
  const idle = new Map<string, { at: Place; reasons: Map<string, number>; not: NotApplied }>();
  for (const m of result?.report.manifests ?? []) {
    for (const e of m.edits) {
      for (const s of e.causes ?? []) {
        if (!s.at?.line) continue;
        const key = s.at.file + ":" + s.at.line;
        const entry = acted.get(key) ?? { at: s.at, step: s, edits: 0 };
        entry.edits++;
        acted.set(key, entry);
      }
    }
    for (const n of m.notApplied ?? []) {
      if (!n.at?.line) continue;
      const key = n.at.file + ":" + n.at.line;
      const entry = idle.get(key) ?? { at: n.at, reasons: new Map(), not: n };
      entry.reasons.set(n.reason, (entry.reasons.get(n.reason) ?? 0) + 1);
      idle.set(key, entry);
    }
  }
  const told = new Map<string, Note[]>();
  const tell = (at: Place, make: () => HTMLElement) => told.set(at.file, [...(told.get(at.file) ?? []), { line: at.line!, make }]);
  for (const { at, step, edits } of acted.values()) {
    tell(at, () => h("span", { class: "told", title: "Show the first change in the result", click: () => { show("result"); pick("result"); output.revealRule({ file: at.file, line: at.line! }); } },
      authors.dot(step.policy ?? ""), plural(edits, "change")));
  }
  for (const [key, { at, reasons }] of idle) {
    if (acted.has(key) || [...acted.keys()].some((k) => k.startsWith(at.file + ":"))) continue;
    const [reason] = reasons.keys();
    tell(at, () => h("span", { class: "told", title: [...reasons.keys()].join("\n"), click: () => { show("result"); pick("explain"); } }, h("span", { class: "dot hollow" }), "did nothing: " + (reason.length > 60 ? reason.slice(0, 58) + "…" : reason)));
  }
  return told;
}

function drawLegend() {
  let focused: string | undefined;
  const chips = [...authors.counts(result!)].map(([name, count]) => {
    const chip = h("button", { type: "button", class: "chip", "aria-pressed": "false", title: `Show only what ${name} changes`, click: () => {
      focused = focused === name ? undefined : name;
      for (const [i, other] of [...authors.counts(result!).keys()].entries()) chips[i].setAttribute("aria-pressed", String(other === focused));
      output.focus(focused);
    } }, authors.dot(name), name, h("span", { class: "soft" }, String(count)));
    return chip;
  });
  by("legend").replaceChildren(...chips);
  output.focus(undefined);
}

// Tabs of the result, and the visible panel on small screens, which show only one.

const tabs = ["result", "explain", "view", "pods", "findings"];

function pick(name: string) {
  for (const tab of tabs) {
    by(tab).hidden = tab !== name;
    const button = by("tab-" + tab);
    button.setAttribute("aria-selected", String(tab === name));
    button.tabIndex = tab === name ? 0 : -1;
  }
  if (name === "pods" && isLoaded) void showPods(copy(state)).catch((error: Error) => showFailure(error.message));
  if (name === "view" && isLoaded) void showViews(copy(state)).catch((error: Error) => showFailure(error.message));
}

for (const tab of tabs) {
  by("tab-" + tab).addEventListener("click", () => pick(tab));
  by("tab-" + tab).addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[(event as KeyboardEvent).key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    pick(next);
    by("tab-" + next).focus();
  });
}

function show(panel: string) {
  document.body.dataset.panel = panel;
  for (const name of ["policies", "manifests", "result"]) by("to-" + name).setAttribute("aria-pressed", String(name === panel));
}
for (const name of ["policies", "manifests", "result"]) by("to-" + name).addEventListener("click", () => show(name));

by("next").addEventListener("click", () => output.step(1));
by("previous").addEventListener("click", () => output.step(-1));
by<HTMLInputElement>("only").addEventListener("change", (event) => output.setChangesOnly((event.target as HTMLInputElement).checked));

// Examples.

const choice = by<HTMLSelectElement>("example");
by("own").after(h("option", { value: blank.name }, blank.title));
for (const group of new Set(EXAMPLES.map((e) => e.group))) {
  const options = EXAMPLES.filter((e) => e.group === group).map((e) => h("option", { value: e.name }, e.title));
  const element = h("optgroup", { label: group }, ...options);
  choice.append(element);
}
choice.addEventListener("change", () => {
  const example = examples.find((e) => e.name === choice.value);
  if (!example) return;
  take(copy(example));
  void remember();
});

/** describe shows the description of the example. */
function describe() {
  const example = examples.find((e) => same(e, state));
  by<HTMLOptionElement>("own").hidden = example !== undefined;
  choice.value = example?.name ?? "";
  by("about").textContent = example?.about ?? "";
}

// Files.

const fileDialog = by<HTMLDialogElement>("file-dialog");
const fileForm = by<HTMLFormElement>("file-form");
let editing: File | undefined;

const fileRole = fileForm.elements.namedItem("role") as HTMLSelectElement;
for (const role of Object.keys(roleNames) as Role[]) fileRole.append(h("option", { value: role }, roleNames[role]));

function openFile(title: string, name: string, role: Role) {
  by("file-title").textContent = title;
  fileForm.filename.value = name;
  fileRole.value = role;
  by("file-remove").hidden = editing === undefined;
  fileForm.filename.setCustomValidity("");
  fileDialog.showModal();
  fileForm.filename.select();
}

function editFile(file: File) {
  editing = file;
  openFile("Edit file", file.name, file.role);
}

function addFile(role: Role) {
  editing = undefined;
  let n = state.files.length + 1;
  while (state.files.some((f) => f.name === `${role}/new-${n}.yaml`)) n++;
  openFile("New file", `${role}/new-${n}.yaml`, role);
}

fileForm.filename.addEventListener("input", () => fileForm.filename.setCustomValidity(nameProblem(fileForm.filename.value, editing)));

/** nameProblem returns why a file cannot have a name, or "". */
function nameProblem(name: string, file: File | undefined): string {
  const isPath = name !== "" && name.split("/").every((part) => part !== "" && part !== "." && part !== "..") && !/[\\\0\n\r]/.test(name);
  if (!isPath) return "a path below this directory, such as policies/team.yaml";
  return state.files.some((f) => f !== file && f.name === name) ? "there is another file with this name" : "";
}

fileForm.addEventListener("submit", () => {
  const role = fileRole.value as Role;
  const file = editing ?? { role, name: "", text: "" };
  file.name = fileForm.filename.value;
  file.role = role;
  if (!editing) state.files.push(file);
  rearrange(file);
});

by("file-remove").addEventListener("click", () => {
  state.files = state.files.filter((f) => f !== editing);
  fileDialog.close();
  rearrange(undefined);
});

/** rearrange shows the files again, with one of them open. */
function rearrange(file: File | undefined) {
  policies.show(state.files.filter((f) => left.includes(f.role)));
  manifests.show(state.files.filter((f) => !left.includes(f.role)));
  if (file) (left.includes(file.role) ? policies : manifests).open(file);
  changed();
}

for (const [name, role] of [["policies", "policies"], ["manifests", "manifests"]] as [string, Role][]) {
  const panel = by(name + "-panel");
  panel.addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
  panel.addEventListener("drop", async (event) => {
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    let last: File | undefined;
    for (const dropped of event.dataTransfer.files) {
      const path = `${role}/${dropped.name}`;
      last = state.files.find((f) => f.name === path);
      if (!last) state.files.push((last = { role, name: path, text: "" }));
      last.text = await dropped.text();
    }
    rearrange(last);
  }, { capture: true });
}

// The cluster and the request.

const optionsDialog = by<HTMLDialogElement>("options-dialog");
const optionsForm = by<HTMLFormElement>("options-form");

function writeOptions() {
  for (const field of optionsForm.elements) {
    if (field instanceof HTMLInputElement && field.type === "checkbox") field.checked = state.options[field.name] !== undefined;
    else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = (state.options[field.name] ?? []).join(", ");
  }
  const count = Object.keys(state.options).length;
  by("options-count").textContent = count ? String(count) : "";
}

by("options").addEventListener("click", () => optionsDialog.showModal());
optionsForm.addEventListener("input", () => {
  const options: Record<string, string[]> = {};
  for (const field of optionsForm.elements) {
    if (field instanceof HTMLInputElement && field.type === "checkbox") {
      if (field.checked) options[field.name] = ["true"];
    } else if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) {
      const values = field.name === "as-group" ? field.value.split(",").map((v) => v.trim()).filter(Boolean) : field.value.trim() ? [field.value.trim()] : [];
      if (values.length) options[field.name] = values;
    }
  }
  state.options = options;
  const count = Object.keys(options).length;
  by("options-count").textContent = count ? String(count) : "";
  changed();
});

// Links, copies and downloads, which leave the page only on request.

/** hasSecret reports whether a file may hold a Secret. */
function hasSecret(): boolean {
  return state.files.some((f) => /^\s*["']?kind["']?\s*:\s*["']?Secret\b/mi.test(f.text));
}

by("share").addEventListener("click", async () => {
  await remember();
  await toClipboard(location.href, hasSecret() ? "Link copied. It contains the values of the Secret." : "Link copied. It contains all files; no server has them.");
});

async function toClipboard(text: string, done: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "hidden", readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) return say("The browser does not allow copying; the link is in the address bar.");
  }
  say(done);
}

function onExport(id: string, action: () => Promise<void>) {
  by(id).addEventListener("click", () => {
    by("export-menu").hidePopover();
    action().catch((error: Error) => say(error.message));
  });
}

onExport("copy-command", async () => {
  const { value } = await engine.ask<{ text: string }>("command", copy(state));
  await toClipboard(value.text, "Copied: a script that writes the files and runs preadmit.");
});
onExport("save-result", async () => {
  if (result?.status !== "done") throw new Error("There is no result to download.");
  save("admitted.yaml", result.output);
});
for (const [id, question] of [["save-test", "test"], ["save-page", "page"]]) {
  onExport(id, async () => {
    const { value } = await engine.ask<Download>(question, copy(state));
    save(value.name, fromBase64(value.data));
  });
}
by("copy-result").addEventListener("click", () => void toClipboard(result?.output ?? "", "Result copied."));

// The look.

const themes = ["system", "light", "dark"];
function setTheme(theme: string) {
  document.documentElement.dataset.theme = theme;
  by("theme").title = `Colours: ${theme}`;
  by("theme").setAttribute("aria-label", `Colours: ${theme}`);
}
by("theme").addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % themes.length];
  setTheme(next);
  try { localStorage.setItem("theme", next); } catch { /* the theme is then not saved */ }
});
try { setTheme(localStorage.getItem("theme") ?? "system"); } catch { setTheme("system"); }

// Keys.

by("help").addEventListener("click", () => by<HTMLDialogElement>("help-dialog").showModal());
document.addEventListener("keydown", (event) => {
  const modifier = event.ctrlKey || event.metaKey;
  if (modifier && event.key === "s") {
    event.preventDefault();
    by("share").click();
  } else if (event.altKey && ["1", "2", "3"].includes(event.key)) {
    event.preventDefault();
    const panel = ["policies", "manifests", "result"][Number(event.key) - 1];
    show(panel);
    if (panel === "policies") policies.focus();
    if (panel === "manifests") manifests.focus();
    if (panel === "result") by("tab-result").focus();
  } else if (modifier && event.key === "Enter") {
    event.preventDefault();
    void evaluate();
  }
});
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  for (const button of dialog.querySelectorAll<HTMLElement>(".close")) button.addEventListener("click", () => dialog.close());
}

// Start.

async function fromAddress() {
  try {
    take(await fromFragment(location.hash.slice(1) || EXAMPLES[0].name, examples));
  } catch (error) {
    say(`The address cannot be read: ${(error as Error).message}`);
    take(copy(EXAMPLES[0]));
  }
}

async function begin() {
  show("result");
  pick("result");
  await fromAddress();
  window.addEventListener("hashchange", () => void fromAddress());
  const bar = by<HTMLProgressElement>("progress");
  try {
    await engine.load((share) => {
      bar.value = share;
      by("progress-text").textContent = share < 1 ? `${Math.round(share * 100)} %` : "starting";
    });
    // The browser compiles the engine when it first runs, so this is part of loading.
    await engine.ask<Result>("explain", EXAMPLES[0]);
    isLoaded = true;
    await evaluate();
  } catch (error) {
    showFailure(`The engine could not be loaded: ${(error as Error).message}`);
  }
}

void begin();
