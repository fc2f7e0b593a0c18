// explain.ts lists details that are not in the text of the result: values before and after, why
// policies did not apply, diagnostics, and the view of policies.

import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

import { rule, who, type Diagnostic, type Edit, type Manifest, type Place, type Result, type Step, type Views } from "./answers";
import type { Authors } from "./authors";
import { extend, h, plural } from "./dom";
import { makeView, readable } from "./editor";

type Go = (at: Place) => void;

/** explanation lists the changes of every manifest, and the policies that did not apply. */
export function explanation(result: Result, authors: Authors, go: Go, reveal: (edit: Edit) => void): HTMLElement {
  const list = extend(h("div", { class: "manifests" }), result.report.manifests, (m) => {
    const count = m.edits.length ? plural(m.edits.length, "change") : "unchanged";
    return h("details", { class: "card", open: m.edits.length > 0 },
      h("summary", {}, h("code", { class: "id" }, m.id), h("span", { class: m.edits.length ? "badge on" : "badge" }, count)),
      m.edits.length > 0 && extend(h("div"), m.edits, (e) => change(e, authors, go, () => reveal(e))),
      ...(m.dropped ?? []).map((s) => dropped(s, authors, go)),
      others(m, go));
  });
  if (!result.report.manifests.length) list.append(h("p", { class: "empty" }, "There are no manifests."));
  return list;
}

function change(edit: Edit, authors: Authors, go: Go, reveal: () => void): HTMLElement {
  return h("div", { class: "change" },
    h("button", { type: "button", class: "path", title: "Show it in the result", click: reveal }, h("span", { class: "op " + edit.op }, sign(edit.op)), edit.path),
    values(edit),
    ...(edit.causes ?? []).map((s) => author(s, authors, go)));
}

function sign(op: string): string {
  return { add: "+", remove: "−", replace: "~", move: "↕" }[op] ?? op;
}

/** values returns the old and the new value, shortened. */
function values(edit: { op: string; old?: unknown; new?: unknown }): HTMLElement {
  const old = edit.old === undefined ? null : h("span", { class: "old" }, brief(edit.old));
  const now = edit.new === undefined ? null : h("span", { class: "new" }, brief(edit.new));
  return h("div", { class: "values" }, old, old && now && " → ", now);
}

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 110)} … ${text.slice(-40)}` : text;
}

function author(step: Step, authors: Authors, go: Go): HTMLElement {
  const name = who(step), more = rule(step);
  return h("div", { class: "author" }, authors.dot(name), "by ", h("b", {}, name), more && h("span", { class: "soft" }, " " + more), " ", place(step.at, go));
}

function dropped(step: Step, authors: Authors, go: Go): HTMLElement {
  return h("div", { class: "change" }, h("div", { class: "path" }, h("span", { class: "op" }, "∅"), step.path), h("div", { class: "soft" }, "dropped: the server sets this field itself"), author(step, authors, go));
}

function others(m: Manifest, go: Go): HTMLElement | null {
  if (!m.notApplied?.length) return null;
  return h("details", { class: "others" },
    h("summary", {}, `${plural(m.notApplied.length, "rule")} did not apply`),
    h("ul", {}, ...m.notApplied.map((n) => {
      const more = rule(n);
      return h("li", {}, h("span", { class: "dot hollow" }), h("b", {}, n.policy ?? "mutation tree"), more && h("span", { class: "soft" }, " " + more), " ", place(n.at, go), h("div", { class: "reason" }, n.reason));
    })));
}

/** place returns a link to a position in a file. */
function place(at: Place | undefined, go: Go): HTMLElement | null {
  if (!at) return null;
  const text = at.line ? `${at.file.slice(at.file.lastIndexOf("/") + 1)}:${at.line}` : at.file;
  return h("button", { type: "button", class: "place", title: `Go to ${at.file}`, click: () => go(at) }, text);
}

/** diagnostics lists the diagnostics, the most severe first. */
export function diagnostics(found: Diagnostic[], go: Go): HTMLElement {
  const rank = { error: 0, warning: 1, info: 2 };
  const sorted = [...found].sort((a, b) => rank[a.severity] - rank[b.severity]);
  const list = extend(h("div", { class: "findings" }), sorted, (d) => h("div", { class: "finding " + d.severity },
    h("div", { class: "head" }, h("span", { class: "severity" }, d.severity), h("a", { href: `reference/errors.html#${d.code}`, title: "What this means" }, d.code), place(d.at, go)),
    d.subject && h("div", { class: "subject" }, d.subject),
    h("div", { class: d.message.includes("\n") ? "message code" : "message" }, d.field && h("code", {}, d.field + ": "), d.message),
    d.advice && h("div", { class: "advice" }, d.advice)));
  if (!found.length) list.append(h("p", { class: "empty" }, "No mistakes found: the policies compile, write only fields that exist, and do not conflict."));
  return list;
}

/** ViewsView shows the objects that policies see, or the Pods that the cluster runs. */
export class ViewsView {
  private readonly view: EditorView;

  constructor(editor: HTMLElement, private readonly label: string) {
    this.view = makeView(editor);
  }

  show(views: Views) {
    const filled = EditorView.decorations.compute([], (state) => {
      const builder = new RangeSetBuilder<Decoration>();
      views.lines.forEach((l, i) => {
        if (l.filled && i < state.doc.lines) builder.add(state.doc.line(i + 1).from, state.doc.line(i + 1).from, Decoration.line({ class: "filled" }));
      });
      return builder.finish();
    });
    const theme = EditorView.theme({ ".filled": { backgroundColor: "var(--fill)", boxShadow: "inset 3px 0 0 var(--accent)" } });
    this.view.setState(readable(views.lines.map((l) => l.text).join("\n"), this.label, [filled, theme]));
  }
}
