// authors.ts gives every policy a colour, the same in all parts of the page.

import { who, type Result } from "./answers";
import { h } from "./dom";

/** hues is the number of colours. Colour-blind people can distinguish them. */
const hues = 8;

export class Authors {
  private order: string[] = [];

  /** learn takes the authors from a result, in the order in which they act. */
  learn(result: Result) {
    const found = new Set<string>();
    for (const m of result.report.manifests) {
      for (const e of m.edits) for (const s of e.causes ?? []) if (s.policy) found.add(s.policy);
    }
    this.order = [...found].sort();
  }

  /** color returns the name of a colour in the style sheet. */
  color(name: string): string {
    const i = this.order.indexOf(name);
    return i < 0 ? "var(--soft)" : `var(--author-${(i % hues) + 1})`;
  }

  /** dot returns a dot in the colour of an author. */
  dot(name: string): HTMLElement {
    const dot = h("span", { class: "dot" });
    dot.style.setProperty("--by", this.color(name));
    return dot;
  }

  /** counts returns how many edits each author contributes to. */
  counts(result: Result): Map<string, number> {
    const counts = new Map<string, number>();
    for (const m of result.report.manifests) {
      for (const e of m.edits) {
        for (const name of new Set((e.causes ?? []).map(who))) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    return new Map([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
