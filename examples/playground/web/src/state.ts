// state.ts holds the files and options of the user, and writes them compressed into the fragment of
// the address, which browsers do not send to servers.

export type Role = "policies" | "trees" | "context" | "values" | "user-info" | "webhook-answers" | "old" | "manifests";

export interface File {
  role: Role;
  name: string;
  text: string;
}

export interface State {
  files: File[];
  /** options are the values of flags by their names. */
  options: Record<string, string[]>;
}

export interface Example extends State {
  name: string;
  group: string;
  title: string;
  about: string;
}

/** same reports whether two states are the same. */
export function same(a: State, b: State): boolean {
  const options = (s: State) => JSON.stringify(Object.entries(s.options).sort());
  const sameFile = (f: File, g: File) => f.role === g.role && f.name === g.name && f.text === g.text;
  return a.files.length === b.files.length && a.files.every((f, i) => sameFile(f, b.files[i])) && options(a) === options(b);
}

/** toFragment returns the text after the # of an address. */
export async function toFragment(state: State, examples: Example[]): Promise<string> {
  const example = examples.find((e) => same(e, state));
  if (example) return example.name;
  const text = JSON.stringify({ files: state.files, options: state.options });
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return "state=" + toBase64(packed).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** fromFragment returns the state in a fragment. It throws an error if the fragment is damaged. */
export async function fromFragment(fragment: string, examples: Example[]): Promise<State> {
  const packed = fragment.startsWith("state=") ? fragment.slice("state=".length) : null;
  if (packed === null) {
    const example = examples.find((e) => e.name === decodeURIComponent(fragment));
    if (!example) throw new Error(`there is no example ${fragment}`);
    return copy(example);
  }
  const data = fromBase64(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const state = JSON.parse(new TextDecoder().decode(await through(data, new DecompressionStream("deflate-raw"))));
  if (!isState(state)) throw new Error("the address has something else than files and options");
  return { files: state.files, options: state.options };
}

/** isState reports whether a decoded value is a state. */
function isState(value: any): value is State {
  const isText = (text: unknown) => typeof text === "string";
  return Array.isArray(value?.files) && value.files.every((f: any) => isText(f?.role) && isText(f?.name) && isText(f?.text)) &&
    typeof value.options === "object" && value.options !== null &&
    Object.values(value.options).every((v) => Array.isArray(v) && v.every(isText));
}

export function copy(state: State): State {
  return { files: state.files.map((f) => ({ role: f.role, name: f.name, text: f.text })), options: { ...state.options } };
}

/** longest limits the decompressed size of an address, so that a short address cannot fill the memory. */
const longest = 8 << 20;

async function through(data: Uint8Array<ArrayBuffer>, transform: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([data]).stream().pipeThrough(transform as ReadableWritablePair<Uint8Array, Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length > longest) throw new Error("the address holds more than 8 MiB");
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function toBase64(data: Uint8Array): string {
  let text = "";
  for (let i = 0; i < data.length; i += 0x8000) text += String.fromCharCode(...data.subarray(i, i + 0x8000));
  return btoa(text);
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const data = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) data[i] = binary.charCodeAt(i);
  return data;
}
