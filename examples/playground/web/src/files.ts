// files.ts is a panel with files. An editor shows one of them.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import type { EditorState } from "@codemirror/state";

import type { Completion, Diagnostic, Hover, Place } from "./answers";
import { h } from "./dom";
import { editable, type Guide, makeView, mark, rangeOf } from "./editor";
import type { File, Role } from "./state";

/** roleNames describe the roles of files that the panel does not show. */
export const roleNames: Record<Role, string> = {
  policies: "policies",
  trees: "mutation trees",
  context: "context: what the cluster has",
  values: "values for Kyverno's rules",
  "user-info": "user info",
  "webhook-answers": "webhook answers",
  manifests: "manifests",
  old: "objects before an update",
};

/** Note is a message about a line, such as the effect of a rule. */
export interface Note {
  line: number;
  make(): HTMLElement;
}

class NoteWidget extends WidgetType {
  constructor(private note: Note) { super(); }
  override toDOM() { return this.note.make(); }
  override ignoreEvent() { return true; }
}

const setNotes = StateEffect.define<Note[]>();
const notes = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    set = set.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setNotes)) {
        const doc = transaction.state.doc;
        const known = effect.value.filter((n) => n.line >= 1 && n.line <= doc.lines);
        set = Decoration.set(known.map((n) => Decoration.widget({ widget: new NoteWidget(n), side: 1 }).range(doc.line(n.line).to)), true);
      }
    }
    return set;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const setFlash = StateEffect.define<number | null>();
const flash = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setFlash)) {
        set = effect.value === null ? Decoration.none : Decoration.set([Decoration.line({ class: "flash" }).range(effect.value)]);
      }
    }
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export class Panel {
  files: File[] = [];
  private states = new Map<File, EditorState>();
  private current?: File;
  private readonly view: EditorView;
  private diagnostics: Diagnostic[] = [];
  private told = new Map<string, Note[]>();

  constructor(
    private readonly tabs: HTMLElement,
    editor: HTMLElement,
    private readonly changed: () => void,
    private readonly edit: (file: File) => void,
    private readonly add: () => void,
    private readonly ask: { complete(at: Place, signal: AbortSignal): Promise<Completion>; hover(at: Place): Promise<Hover> },
  ) {
    this.view = makeView(editor);
    tabs.addEventListener("keydown", (event) => this.walk(event));
  }

  /** show replaces the files. */
  show(files: File[]) {
    this.files = files;
    this.states.clear();
    this.diagnostics = [];
    this.told.clear();
    this.current = undefined;
    this.open(files[0]);
  }

  /** open shows one of the files. */
  open(file: File | undefined) {
    if (this.current) this.states.set(this.current, this.view.state);
    this.current = file;
    this.view.setState((file && this.states.get(file)) ?? this.fresh(file));
    this.decorate();
    this.draw();
  }

  private fresh(file: File | undefined): EditorState {
    const update = EditorView.updateListener.of((u) => {
      if (!u.docChanged || !file) return;
      file.text = u.state.doc.toString();
      this.changed();
    });
    const guide: Guide = {
      complete: async (at, signal) => (file ? this.ask.complete({ file: file.name, ...at }, signal) : { word: "", fields: [] }),
      hover: async (at) => (file ? this.ask.hover({ file: file.name, ...at }) : { text: "" }),
    };
    return editable(file?.text ?? "", file?.name ?? "no file", guide, [update, notes, flash, EditorView.editable.of(file !== undefined)]);
  }

  /** draw draws the tabs. */
  draw() {
    const tabs = this.files.map((file) => {
      const isOpen = file === this.current;
      const worst = this.worst(file);
      const tab = h("button", { type: "button", role: "tab", class: "tab", "aria-selected": isOpen ? "true" : "false", tabindex: isOpen ? 0 : -1, title: `${file.name}: ${roleNames[file.role]}`, click: () => this.open(file), dblclick: () => this.edit(file) },
        worst && h("span", { class: "mark " + worst, title: worst }), short(file, this.files),
        file.role !== "policies" && file.role !== "manifests" && h("span", { class: "role" }, file.role));
      return isOpen ? h("span", { class: "open", role: "presentation" }, tab, h("button", { type: "button", class: "more", title: "Rename, move or remove this file", "aria-label": `Rename, move or remove ${file.name}`, click: () => this.edit(file) }, "⋯")) : tab;
    });
    this.tabs.replaceChildren(...tabs, h("button", { type: "button", class: "more", title: "Add a file", "aria-label": "Add a file", click: this.add }, "+"));
    const open = this.tabs.querySelector<HTMLElement>(".open");
    if (open) this.tabs.scrollLeft = Math.max(0, open.offsetLeft - 40);
  }

  private worst(file: File): string | undefined {
    const found = this.diagnostics.filter((d) => d.at?.file === file.name).map((d) => d.severity);
    return found.includes("error") ? "error" : found.includes("warning") ? "warning" : undefined;
  }

  private walk(event: KeyboardEvent) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const at = this.files.indexOf(this.current!);
    if (!step || at < 0) return;
    event.preventDefault();
    this.open(this.files[(at + step + this.files.length) % this.files.length]);
    this.tabs.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }

  /** tell shows the diagnostics and notes of the engine. */
  tell(diagnostics: Diagnostic[], told: Map<string, Note[]>) {
    this.diagnostics = diagnostics;
    this.told = told;
    this.decorate();
    this.draw();
  }

  private decorate() {
    const name = this.current?.name;
    mark(this.view, this.diagnostics.filter((d) => d.at?.file === name));
    this.view.dispatch({ effects: setNotes.of(this.told.get(name ?? "") ?? []) });
  }

  /** go shows a position. It returns false if the panel does not have the file. */
  go(at: Place): boolean {
    const file = this.files.find((f) => f.name === at.file);
    if (!file) return false;
    if (file !== this.current) this.open(file);
    const { from } = rangeOf(this.view.state.doc, at);
    const line = this.view.state.doc.lineAt(from);
    this.view.dispatch({ selection: { anchor: from }, effects: [EditorView.scrollIntoView(from, { y: "center" }), setFlash.of(line.from)] });
    setTimeout(() => this.view.dispatch({ effects: setFlash.of(null) }), 1600);
    this.view.focus();
    return true;
  }

  focus() { this.view.focus(); }
}

/** short returns the name of a file, without its directory if the name is unique. */
function short(file: File, all: File[]): string {
  const base = (f: File) => f.name.slice(f.name.lastIndexOf("/") + 1);
  return all.some((f) => f !== file && base(f) === base(file)) ? file.name : base(file);
}
