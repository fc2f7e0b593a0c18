// result.ts shows the resulting manifests: added lines with their author above them, removed lines
// struck out, and unchanged lines folded on request.

import { type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

import { rule, who, type Edit, type Line, type Place, type Result } from "./answers";
import type { Authors } from "./authors";
import { h, plural } from "./dom";
import { makeView, readable } from "./editor";

/** context is how many unchanged lines are shown around a change. */
const context = 3;

const theme = EditorView.theme({
  ".added": { backgroundColor: "var(--add)", boxShadow: "inset 3px 0 0 var(--by, var(--good))" },
  ".by": { display: "flex", flexWrap: "wrap", gap: "2px 6px", padding: "4px 8px 2px 6px", font: "12px/18px var(--sans)" },
  ".by button": { font: "inherit", color: "var(--fg)", background: "var(--panel)", border: "1px solid var(--line)", borderRadius: "10px", padding: "0 8px", cursor: "pointer", textAlign: "left" },
  ".by button:hover": { borderColor: "var(--by)" },
  ".by button:focus-visible": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".by b": { fontWeight: "600" },
  ".by .dot": { marginRight: "6px" },
  ".by .soft": { color: "var(--soft)" },
  ".by .note": { color: "var(--soft)", padding: "0 2px" },
  ".gone": { backgroundColor: "var(--del)", padding: "0 12px 0 6px", whiteSpace: "pre", boxShadow: "inset 3px 0 0 var(--bad)", color: "var(--soft)" },
  ".gone s": { textDecorationColor: "var(--bad)" },
  ".far": { padding: "3px 8px", background: "var(--bg)", color: "var(--soft)", font: "12px/20px var(--sans)", textAlign: "center", cursor: "pointer" },
  ".far:hover": { color: "var(--accent)" },
  ".file": { padding: "6px 10px", font: "600 12px/18px var(--mono)", color: "var(--soft)", borderBottom: "1px solid var(--line)", background: "var(--bg)" },
  ".faded": { opacity: ".3" },
});

class Block extends WidgetType {
  constructor(private readonly make: () => HTMLElement) { super(); }
  override toDOM() { return this.make(); }
  override ignoreEvent() { return true; }
}

/** Group is a sequence of lines of one edit. */
interface Group {
  edit?: Edit;
  removed: string[];
  added: number; // number of added lines
  at: number; // number of the first added line, or of the line after the edit
}

export class ResultView {
  private readonly view: EditorView;
  private result?: Result;
  private focused?: string;
  private opened = new Set<number>();
  private changesOnly = true;

  constructor(editor: HTMLElement, private readonly authors: Authors, private readonly go: (at: Place) => void) {
    this.view = makeView(editor);
    editor.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n") this.step(1);
      if (event.key === "p") this.step(-1);
    });
  }

  show(result: Result) {
    this.result = result;
    this.opened.clear();
    this.draw(false);
  }

  /** focus fades the changes of other authors. */
  focus(author: string | undefined) {
    this.focused = author;
    this.draw(true);
  }

  setChangesOnly(only: boolean) {
    this.changesOnly = only;
    this.opened.clear();
    this.draw(false);
  }

  private groups: Group[] = [];

  private draw(isSame: boolean) {
    if (!this.result) return;
    const lines: (Line & { file?: string })[] = [];
    for (const file of this.result.files) {
      file.lines.forEach((l, i) => lines.push(i === 0 && this.result!.files.length > 1 ? { ...l, file: file.name } : l));
    }
    const kept = lines.filter((l) => l.after);
    const text = kept.map((l) => l.text).join("\n");
    const scroll = this.view.scrollDOM.scrollTop;
    const decorations = this.decorate(lines);
    this.view.setState(readable(text, "the result", [theme, decorations]));
    if (isSame) this.view.scrollDOM.scrollTop = scroll;
    else this.toFirst();
  }

  private toFirst() {
    const first = this.groups[0];
    if (!first || this.changesOnly) return;
    const doc = this.view.state.doc;
    const at = doc.line(Math.min(Math.max(1, first.at - 4), doc.lines)).from;
    this.view.dispatch({ effects: EditorView.scrollIntoView(at, { y: "start" }) });
  }

  /** decorate finds the groups and their decorations. */
  private decorate(lines: (Line & { file?: string })[]): Extension {
    this.groups = [];
    let number = 0;
    let group: (Group & { key: string }) | undefined;
    const files: { at: number; name: string }[] = [];
    for (const l of lines) {
      if (l.file) files.push({ at: number + 1, name: l.file });
      if (l.after) number++;
      if (l.before && l.after) {
        group = undefined;
        continue;
      }
      const key = l.edit?.join(".") ?? "";
      if (!group || group.key !== key) {
        group = { key, edit: l.edit && this.result!.report.manifests[l.edit[0]].edits[l.edit[1]], removed: [], added: 0, at: l.after ? number : number + 1 };
        this.groups.push(group);
      }
      if (l.after) {
        if (group.added++ === 0) group.at = number;
      } else group.removed.push(l.text);
    }
    return this.extension(number, files);
  }

  private extension(lines: number, files: { at: number; name: string }[]): Extension {
    return EditorView.decorations.compute([], (state): DecorationSet => {
      const all: { from: number; to: number; side: number; value: Decoration }[] = [];
      const doc = state.doc;
      for (const f of files) {
        const from = doc.line(Math.min(f.at, doc.lines)).from;
        all.push({ from, to: from, side: -3, value: Decoration.widget({ widget: new Block(() => h("div", { class: "file" }, f.name)), side: -3, block: true }) });
      }
      for (const group of this.groups) {
        const names = (group.edit?.causes ?? []).map(who);
        const faded = this.focused !== undefined && !names.includes(this.focused);
        const color = names.length ? this.authors.color(names[names.length - 1]) : "var(--soft)";
        const isPastEnd = group.at > doc.lines;
        const from = isPastEnd ? doc.length : doc.line(group.at).from;
        const side = isPastEnd ? 2 : -1;
        all.push({ from, to: from, side, value: Decoration.widget({ widget: new Block(() => this.heading(group, faded)), side, block: true }) });
        for (let n = group.at; n < group.at + group.added; n++) {
          const at = doc.line(n).from;
          all.push({ from: at, to: at, side: 0, value: Decoration.line({ class: faded ? "added faded" : "added", attributes: { style: `--by: ${color}` } }) });
        }
      }
      if (this.changesOnly) this.fold(lines, (from, to) => {
        const start = doc.line(from).from, end = doc.line(to).to;
        const widget = new Block(() => h("div", { class: "far", role: "button", tabindex: 0, click: () => this.unfold(from), keydown: (e: KeyboardEvent) => e.key === "Enter" && this.unfold(from) }, `⋯ ${to - from + 1} unchanged lines`));
        all.push({ from: start, to: end, side: 1, value: Decoration.replace({ widget, block: true }) });
      });
      all.sort((a, b) => a.from - b.from || a.value.startSide - b.value.startSide);
      const builder = new RangeSetBuilder<Decoration>();
      for (const d of all) builder.add(d.from, d.to, d.value);
      return builder.finish();
    });
  }

  /** fold finds the lines that are far from all changes. */
  private fold(lines: number, add: (from: number, to: number) => void) {
    let from = 1;
    for (const g of [...this.groups, undefined]) {
      const first = from > 1 ? from + context : from;
      const last = g ? g.at - 1 - context : lines;
      if (last - first >= 3 && !this.opened.has(first)) add(first, last);
      if (g) from = Math.max(from, g.at + g.added);
    }
  }

  private unfold(from: number) {
    this.opened.add(from);
    this.draw(true);
  }

  private heading(group: Group, faded: boolean): HTMLElement {
    const chips = (group.edit?.causes ?? []).map((cause) => {
      const name = who(cause), more = rule(cause);
      const chip = h("button", { type: "button", title: cause.at ? `${cause.op} ${cause.path}\n${cause.at.file}:${cause.at.line}` : `${cause.op} ${cause.path}`, click: () => cause.at && this.go(cause.at) },
        this.authors.dot(name), h("b", {}, name), more && h("span", { class: "soft" }, " " + more));
      chip.style.setProperty("--by", this.authors.color(name));
      return chip;
    });
    const by = h("div", { class: faded ? "by faded" : "by" }, ...chips, !chips.length && h("span", { class: "note" }, "follows from the changes around it"));
    if (!group.removed.length) return by;
    return h("div", {}, by, ...group.removed.map((text) => h("div", { class: faded ? "gone faded" : "gone" }, /^\s*/.exec(text)![0], h("s", {}, text.trimStart() || " "))));
  }

  /** step goes to the next or the previous change. */
  step(by: 1 | -1) {
    const doc = this.view.state.doc;
    const here = doc.lineAt(this.view.state.selection.main.head).number;
    const starts = this.groups.map((g) => Math.min(g.at, doc.lines));
    const next = by > 0 ? starts.find((at) => at > here) ?? starts[0] : starts.findLast((at) => at < here) ?? starts.at(-1);
    if (next !== undefined) this.reveal(next);
  }

  /** revealRule shows the first change by the rule at a position. */
  revealRule(at: { file: string; line: number }) {
    const group = this.groups.find((g) => g.edit?.causes?.some((c) => c.at?.file === at.file && c.at.line === at.line));
    if (group) this.reveal(Math.min(group.at, this.view.state.doc.lines));
  }

  /** revealEdit shows an edit. */
  revealEdit(edit: Edit) {
    const group = this.groups.find((g) => g.edit === edit);
    if (group) this.reveal(Math.min(group.at, this.view.state.doc.lines));
  }

  private reveal(line: number) {
    const at = this.view.state.doc.line(line).from;
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    this.view.focus();
  }
}

/** summary returns the number of changes as text. */
export function summary(result: Result): string {
  const edits = result.report.manifests.reduce((n, m) => n + m.edits.length, 0);
  if (!edits) return "Nothing changes.";
  return `${plural(edits, "change")} in ${result.report.changed} of ${plural(result.report.manifests.length, "manifest")}`;
}
