// editor.ts creates the editors. Each is in a shadow root, where the page's content security policy
// allows the styles of CodeMirror.

import { autocompletion, closeBrackets, closeBracketsKeymap, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, type Text } from "@codemirror/state";
import { drawSelection, dropCursor, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap, lineNumbers, type Tooltip } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import type { Completion, Diagnostic, Hover, Place } from "./answers";
import { h } from "./dom";
import { markdown } from "./markdown";

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string), tags.content], color: "var(--text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.typeName], color: "var(--value)" },
  { tag: [tags.comment, tags.meta], color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--soft)" },
  { tag: [tags.labelName], color: "var(--value)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--fg)", backgroundColor: "var(--panel)", fontSize: "var(--code-size)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto", overscrollBehavior: "contain" },
  ".cm-content": { padding: "8px 0 40px", caretColor: "var(--fg)" },
  ".cm-line": { padding: "0 12px 0 6px" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection": { backgroundColor: "var(--selection)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 6px 0 10px", minWidth: "34px" },
  ".cm-foldGutter .cm-gutterElement": { padding: "0 2px", cursor: "pointer" },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0 0 0 3px" },
  ".cm-lint-marker": { width: "9px", height: "9px", marginTop: "6px", borderRadius: "50%", content: '""' },
  ".cm-lint-marker-error": { backgroundColor: "var(--bad)", content: '""' },
  ".cm-lint-marker-warning": { backgroundColor: "var(--warn)", content: '""' },
  ".cm-lint-marker-info": { backgroundColor: "var(--accent)", content: '""' },
  ".cm-activeLine": { backgroundColor: "var(--active)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--active)", color: "var(--fg)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "none" },
  ".cm-selectionMatch": { backgroundColor: "var(--hover)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", border: "1px solid var(--line)", color: "var(--soft)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px", textUnderlineOffset: "4px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "4px" },
  ".cm-lintRange-info": { backgroundImage: "none", textDecoration: "underline dotted var(--accent) 1px", textUnderlineOffset: "4px" },
  ".cm-lintRange-active": { backgroundColor: "var(--hover)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--fg)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)", overflow: "hidden", maxWidth: "min(560px, 90vw)", zIndex: "30" },
  ".cm-tooltip.cm-tooltip-lint, .cm-tooltip-hover ul": { padding: "0", margin: "0" },
  ".cm-diagnostic": { padding: "8px 12px", borderLeft: "3px solid var(--soft)", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.45", whiteSpace: "pre-wrap", overflowWrap: "anywhere" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--accent)" },
  ".cm-tooltip .about": { padding: "8px 12px", fontFamily: "var(--sans)", fontSize: "13px", lineHeight: "1.45", overflowWrap: "anywhere", maxHeight: "40vh", overflowY: "auto" },
  ".about > *": { margin: "0 0 6px" },
  ".about > :last-child": { marginBottom: "0" },
  ".about ul": { paddingLeft: "18px" },
  ".about code, .about pre": { fontFamily: "var(--mono)", fontSize: "12px", whiteSpace: "pre-wrap" },
  ".cm-diagnosticSource": { fontSize: "11px", opacity: ".7" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "var(--code-size)", maxHeight: "14em", padding: "4px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { display: "flex", justifyContent: "space-between", gap: "24px", padding: "3px 8px", borderRadius: "5px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--selection)", color: "var(--fg)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600" },
  ".cm-completionDetail": { fontStyle: "normal", fontFamily: "var(--sans)", fontSize: "12px", color: "var(--soft)", margin: "0" },
  ".cm-panels": { backgroundColor: "var(--bg)", color: "var(--fg)", borderColor: "var(--line)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-textfield": { backgroundColor: "var(--panel)", color: "var(--fg)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--panel)", color: "var(--fg)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-searchMatch": { backgroundColor: "var(--found)" },
  // Notes of the engine about a rule, at the end of its line.
  ".told": { marginLeft: "16px", padding: "0 7px", border: "1px solid var(--line)", borderRadius: "9px", font: "11px/16px var(--sans)", color: "var(--soft)", background: "var(--panel)", cursor: "pointer", whiteSpace: "nowrap" },
  ".told:hover": { borderColor: "var(--accent)", color: "var(--fg)" },
  ".told .dot": { marginRight: "5px" },
  ".dot": { display: "inline-block", width: "8px", height: "8px", borderRadius: "50%", background: "var(--by, var(--soft))" },
  ".dot.hollow": { background: "none", boxShadow: "inset 0 0 0 1.5px var(--soft)" },
  ".flash": { backgroundColor: "var(--found)" },
});

/** look has the common settings of all editors. */
const look: Extension = [lineNumbers(), theme, syntaxHighlighting(colors), highlightSpecialChars(), drawSelection(), search({ top: false }), keymap.of([...searchKeymap, ...foldKeymap])];

/** shadow creates the shadow root of an editor. */
function shadow(parent: HTMLElement): { root: ShadowRoot; parent: HTMLElement } {
  const root = parent.attachShadow({ mode: "open" });
  const inner = document.createElement("div");
  inner.style.height = "100%";
  root.append(inner);
  return { root, parent: inner };
}

export function makeView(parent: HTMLElement): EditorView {
  return new EditorView({ ...shadow(parent) });
}

/** Position is a line and a column of a text, from 1. */
export type Position = { line: number; column: number };

/** Guide knows a text: what can be written at a position in it, and what is there. */
export interface Guide {
  complete(at: Position, signal: AbortSignal): Promise<Completion>;
  hover(at: Position): Promise<Hover>;
}

/** positionAt returns the position of an offset. Columns count characters. */
function positionAt(doc: Text, offset: number): Position {
  const line = doc.lineAt(offset);
  return { line: line.number, column: [...line.text.slice(0, offset - line.from)].length + 1 };
}

/** hovers shows what is at the mouse. */
async function hovers(view: EditorView, pos: number, guide: Guide): Promise<Tooltip | null> {
  const { text } = await guide.hover(positionAt(view.state.doc, pos)).catch(() => ({ text: "" }));
  if (!text) return null;
  return { pos, create: () => ({ dom: h("div", { class: "about" }, ...markdown(text)) }) };
}

/** completions offers what can be written while a word is typed. */
async function completions(context: CompletionContext, guide: Guide): Promise<CompletionResult | null> {
  if (!context.matchBefore(/[\w./]/) && !context.explicit) return null;
  const out = new AbortController();
  context.addEventListener("abort", () => out.abort());
  const { word, fields } = await guide.complete(positionAt(context.state.doc, context.pos), out.signal).catch(() => ({ word: "", fields: [] }));
  return {
    from: context.pos - word.length,
    validFor: /^\w*$/,
    options: fields.map((f) => ({ label: f.name, detail: f.type, info: f.doc || undefined, type: "property", apply: f.insert })),
  };
}

/** editable returns the editor state for a text that the user edits. */
export function editable(text: string, label: string, guide: Guide, more: Extension): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      autocompletion({ override: [(context) => completions(context, guide)], icons: false }),
      hoverTooltip((view, pos) => hovers(view, pos, guide)),
      look, lintGutter(), foldGutter(), history(), dropCursor(), EditorState.allowMultipleSelections.of(true), indentOnInput(), bracketMatching(),
      closeBrackets(), highlightActiveLine(), highlightActiveLineGutter(), highlightSelectionMatches(),
      yaml(), indentUnit.of("  "), EditorState.tabSize.of(2),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off", autocorrect: "off" }),
      more,
    ],
  });
}

/** readable returns the editor state for a read-only text. */
export function readable(text: string, label: string, more: Extension): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      look, yaml(), EditorState.readOnly.of(true), EditorView.editable.of(false), keymap.of(defaultKeymap),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }), more,
    ],
  });
}

/** rangeOf returns the range of a position: from its column to the end of the word. */
export function rangeOf(doc: Text, at: Place): { from: number; to: number } {
  const line = doc.line(Math.max(1, Math.min(at.line ?? 1, doc.lines)));
  const ahead = [...line.text].slice(0, Math.max(0, (at.column ?? 1) - 1)).join("").length;
  const from = Math.min(line.from + ahead, line.to);
  const rest = line.text.slice(from - line.from);
  const word = /^(?:"[^"]*"|'[^']*'|[^\s:,{}[\]]+)/.exec(rest)?.[0].length ?? rest.trimEnd().length;
  return from === line.to ? { from: line.from + line.text.search(/\S|$/), to: line.to } : { from, to: from + Math.max(1, word) };
}

/** mark underlines the positions of diagnostics. */
export function mark(view: EditorView, diagnostics: Diagnostic[]) {
  const marks: Mark[] = diagnostics.map((d) => ({
    ...rangeOf(view.state.doc, d.at!),
    severity: d.severity,
    source: d.code,
    message: [d.field ? `${d.field}: ${d.message}` : d.message, d.advice].filter(Boolean).join("\n"),
  }));
  view.dispatch(setDiagnostics(view.state, marks.sort((a, b) => a.from - b.from)));
}
