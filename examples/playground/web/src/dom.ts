// dom.ts creates elements. Text of users is never markup.

type Child = Node | string | null | undefined | false;

type Properties = { [name: string]: string | number | boolean | null | undefined | ((event: any) => void) };

/** h creates an element. Functions are listeners; values that are null or false are skipped. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Properties = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) {
    if (child) element.append(child);
  }
  return element;
}

/** by returns an element of the page, which must exist. */
export function by<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** say shows a message for a moment, and announces it to screen readers. */
export function say(text: string) {
  const toast = by("toast");
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(hiding);
  hiding = window.setTimeout(() => toast.classList.remove("shown"), 4000);
}
let hiding = 0;

/** plural returns "1 change" or "2 changes". */
export function plural(n: number, one: string): string {
  return n === 1 ? `1 ${one}` : `${n} ${one}s`;
}

/** save saves a file with the browser. */
export function save(name: string, data: BlobPart) {
  const url = URL.createObjectURL(new Blob([data]));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** part is how many items of a long list are made at once. */
const part = 100;

/** extend appends what make returns for the items of a list from the index at: a part of them, and the next part
 * when the end of the list comes into view. */
export function extend<T>(list: HTMLElement, items: T[], make: (item: T) => HTMLElement, at = 0): HTMLElement {
  const made = items.slice(at, at + part).map(make);
  list.append(...made);
  const left = items.length - at - made.length;
  if (!left) return list;
  const rest = h("button", { type: "button", class: "rest", click: () => {
    const isFocused = document.activeElement === rest;
    watch.disconnect();
    rest.remove();
    extend(list, items, make, at + part);
    if (isFocused) (list.children[at + part] as HTMLElement).querySelector<HTMLElement>("button, summary, a")?.focus();
  } }, `Show ${left} more`);
  const watch = new IntersectionObserver((seen) => seen.some((s) => s.isIntersecting) && rest.click(), { rootMargin: "400px" });
  watch.observe(rest);
  list.append(rest);
  return list;
}
