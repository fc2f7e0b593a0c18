// reference.ts searches the reference. The index is in the script, so that the search also works
// from a disk.

import { by, h } from "./dom";

interface Entry {
  page: string;
  id: string;
  in: string;
  title: string;
  text: string;
}

declare const INDEX: Entry[];

try { document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "system"; } catch { /* the theme of the system is used */ }

const input = by<HTMLInputElement>("search");
const hits = by("hits");
const index = INDEX.map((entry) => ({ entry, title: entry.title.toLowerCase(), text: entry.text.toLowerCase() }));

/** find returns the sections that contain all words, with matches in the title first. */
function find(words: string[]): Entry[] {
  const scored = index.map(({ entry, title, text }) => {
    let score = 0;
    for (const word of words) {
      const inTitle = title.includes(word), inText = text.includes(word);
      if (!inTitle && !inText) return { entry, score: 0 };
      score += (title === word ? 100 : inTitle ? 20 : 0) + Math.min(10, text.split(word).length - 1);
    }
    return { entry, score };
  });
  return scored.filter((s) => s.score > 0).sort((a, b) => b.score - a.score).slice(0, 20).map((s) => s.entry);
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits.hidden = !words.length;
  input.setAttribute("aria-expanded", String(words.length > 0));
  const found = words.length ? find(words) : [];
  hits.replaceChildren(...found.map((entry, i) => {
    const text = h("span", { class: "text" });
    highlight(text, excerpt(entry.text, words[0]), words);
    const title = h("b");
    highlight(title, entry.title, words);
    return h("a", { href: `${entry.page}#${entry.id}`, role: "option", "aria-selected": i === 0 ? "true" : "false", click: () => { hits.hidden = true; } }, title, h("span", { class: "where" }, " " + entry.in), text);
  }), words.length && !found.length ? h("p", {}, "Nothing found.") : "");
}

function excerpt(text: string, word: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 50);
  return (at > 0 ? "… " : "") + text.slice(at, at + 150) + (text.length > at + 150 ? " …" : "");
}

function highlight(element: HTMLElement, text: string, words: string[]) {
  const lower = text.toLowerCase();
  for (let at = 0; at < text.length;) {
    const next = words.map((w) => ({ w, i: lower.indexOf(w, at) })).filter((m) => m.i >= 0).sort((a, b) => a.i - b.i)[0];
    if (!next) {
      element.append(text.slice(at));
      break;
    }
    element.append(text.slice(at, next.i), h("mark", {}, text.slice(next.i, next.i + next.w.length)));
    at = next.i + next.w.length;
  }
}

input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  const links = [...hits.querySelectorAll("a")];
  const at = links.findIndex((a) => a.getAttribute("aria-selected") === "true");
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") hits.hidden = true;
  if (event.key === "Enter") links[at]?.click();
  if (!step || !links.length) return;
  event.preventDefault();
  links[at]?.setAttribute("aria-selected", "false");
  const next = links[(at + step + links.length) % links.length];
  next.setAttribute("aria-selected", "true");
  next.scrollIntoView({ block: "nearest" });
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === input) return;
  event.preventDefault();
  input.focus();
});
document.addEventListener("click", (event) => { if (!(event.target as Element).closest(".search")) hits.hidden = true; });
