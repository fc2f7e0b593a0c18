// markdown.ts shows the Markdown that the engine writes about a place: blocks of code, lists, and code in a line.

import { h } from "./dom";

/** markdown returns the elements of a text. What is no code and no list is text. */
export function markdown(text: string): HTMLElement[] {
  const parts = text.split(/^```\w*\n([^]*?)\n?```$/m); // text and code, in turns
  return parts.flatMap((part, i) => (i % 2 ? [h("pre", {}, part)] : part.split(/\n{2,}/).filter((block) => block.trim()).flatMap(paragraph)));
}

/** paragraph returns a paragraph and the list after it. */
function paragraph(block: string): HTMLElement[] {
  const lines = block.trim().split("\n");
  const first = lines.findIndex((line) => line.startsWith("- "));
  const [above, items] = first < 0 ? [lines, []] : [lines.slice(0, first), lines.slice(first)];
  return [
    ...(above.length ? [h("p", {}, ...words(above.join("\n")))] : []),
    ...(items.length ? [h("ul", {}, ...items.map((line) => h("li", {}, ...words(line.replace(/^- /, "")))))] : []),
  ];
}

function words(text: string): (Node | string)[] {
  return text.split(/`([^`]*)`/).map((part, i) => (i % 2 ? h("code", {}, part) : part));
}
