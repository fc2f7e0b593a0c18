// engine.ts loads the engine and sends questions to it, one after the other, in a worker. If a
// question is outdated or the user stops it, the worker is replaced.

import type { Place } from "./answers";
import { fromBase64, type State } from "./state";

declare const WORKER: string;
declare const WASM: { url: string; script: string; size: number };
declare global {
  var preadmitWasm: string | undefined;
}

/** patience is how long an outdated question may run. */
const patience = 300;

/** Progress is how far the answer of a question is: the number of manifests, which is 0 as long as it is not known. */
export interface Progress {
  question: string;
  done: number;
  total: number;
}

interface Job {
  id: number;
  question: string;
  request: string;
  resolve(answer: { value: any; took: number }): void;
  reject(error: Error): void;
}

export class Engine {
  // A page from a disk cannot start a worker from a file. A blob works everywhere.
  private readonly script = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  private module?: WebAssembly.Module;
  private worker?: Worker;
  private isReady = false;
  private queue: Job[] = [];
  private running?: Job;
  private ids = 0;

  /** The function observe learns what the engine does, and that it does nothing. */
  constructor(private readonly observe: (progress?: Progress) => void) {}

  /** load fetches and compiles the engine. */
  async load(progress: (share: number) => void) {
    this.module = await compile(progress);
    this.start();
  }

  /** ask asks a question about a state, and about a position in it. */
  ask<T>(question: string, state: State, signal?: AbortSignal, at?: Place): Promise<{ value: T; took: number }> {
    return new Promise((resolve, reject) => {
      const request = JSON.stringify({ ask: question, files: state.files, options: state.options, at });
      const job = { id: ++this.ids, question, request, resolve, reject };
      this.queue.push(job);
      this.observeNext();
      signal?.addEventListener("abort", () => this.abandon(job), { once: true });
      this.next();
    });
  }

  private start() {
    this.worker?.terminate();
    this.isReady = false;
    this.worker = new Worker(this.script);
    this.worker.onmessage = (event) => this.hear(event.data);
    this.worker.onerror = (event) => this.fail(new Error(event.message || "the engine stopped"));
    this.worker.postMessage(this.module);
  }

  private next() {
    if (!this.isReady || this.running || !this.queue.length) return;
    const job = (this.running = this.queue.shift()!);
    this.worker!.postMessage({ id: job.id, request: job.request });
  }

  private hear(message: { ready?: boolean; died?: boolean; id?: number; progress?: { done: number; total: number }; answer?: string; took?: number }) {
    if (message.died) return this.fail(new Error("the engine stopped"));
    if (message.ready) this.isReady = true;
    const job = this.running;
    if (job && job.id === message.id) {
      if (message.progress) return this.observe({ question: job.question, ...message.progress });
      this.finish();
      const value = JSON.parse(message.answer!);
      if (value.error) job.reject(new Error(value.error));
      else job.resolve({ value, took: message.took! });
    }
    this.next();
  }

  private finish() {
    this.running = undefined;
    this.observeNext();
  }

  private observeNext() {
    if (!this.running) this.observe(this.queue.length ? { question: this.queue[0].question, done: 0, total: 0 } : undefined);
  }

  /** stop ends all questions, with the error Stopped. */
  stop() {
    for (const job of this.queue.splice(0)) job.reject(new Stopped());
    if (this.running) this.fail(new Stopped());
    this.observeNext();
  }

  /** fail cancels the running question and ends its worker. */
  private fail(why: Error) {
    const job = this.running;
    this.finish();
    job?.reject(why);
    this.start();
  }

  private abandon(job: Job) {
    const waiting = this.queue.indexOf(job);
    if (waiting >= 0) {
      this.queue.splice(waiting, 1);
      job.reject(new Abandoned());
      this.observeNext();
    } else if (this.running === job) {
      setTimeout(() => this.running === job && this.fail(new Abandoned()), patience);
    }
  }
}

/** Abandoned is the error of an outdated question. */
export class Abandoned extends Error {}

/** Stopped is the error of a question that the user has stopped. */
export class Stopped extends Error {}

async function compile(progress: (share: number) => void): Promise<WebAssembly.Module> {
  const source = location.protocol === "file:" ? await fromScript() : await fromHost();
  let seen = 0;
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      seen += chunk.length;
      progress(Math.min(1, seen / WASM.size));
      controller.enqueue(chunk);
    },
  });
  const wasm = await unpacked(source.pipeThrough(counter));
  return WebAssembly.compileStreaming(new Response(wasm, { headers: { "content-type": "application/wasm" } }));
}

async function fromHost(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const response = await fetch(WASM.url);
  if (!response.ok) throw new Error(`${WASM.url}: ${response.status} ${response.statusText}`);
  return response.body!;
}

/** fromScript loads the engine as a script, for pages from a disk, which cannot fetch files. */
function fromScript(): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = WASM.script;
    script.onload = () => {
      const data = fromBase64(globalThis.preadmitWasm!);
      globalThis.preadmitWasm = undefined;
      resolve(new Blob([data]).stream());
    };
    script.onerror = () => reject(new Error(`${WASM.script} cannot be read`));
    document.head.append(script);
  });
}

/** unpacked decompresses the engine, unless the browser has already done so. */
async function unpacked(source: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const reader = source.getReader();
  let first = await reader.read();
  const whole = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = first;
      if (done) return controller.close();
      controller.enqueue(value);
      first = await reader.read();
    },
  });
  const isPacked = first.value?.[0] === 0x1f && first.value[1] === 0x8b;
  return isPacked ? whole.pipeThrough(new DecompressionStream("gzip") as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>) : whole;
}
