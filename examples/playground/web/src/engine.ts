// engine.ts loads the engine and sends questions to it, one after the other, in a worker. If a
// question is outdated or takes too long, the worker is replaced.

import type { Place } from "./answers";
import { fromBase64, type State } from "./state";

declare const WORKER: string;
declare const WASM: { url: string; script: string; size: number };
declare global {
  var preadmitWasm: string | undefined;
}

/** patience is how long an outdated question may run, longest how long any question may run. */
const patience = 300;
const longest = 20_000;

interface Job {
  id: number;
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
  private deadline = 0;
  private ids = 0;

  /** load fetches and compiles the engine. */
  async load(progress: (share: number) => void) {
    this.module = await compile(progress);
    this.start();
  }

  /** ask asks a question about a state, and about a position in it. */
  ask<T>(question: string, state: State, signal?: AbortSignal, at?: Place): Promise<{ value: T; took: number }> {
    return new Promise((resolve, reject) => {
      const request = JSON.stringify({ ask: question, files: state.files, options: state.options, at });
      const job = { id: ++this.ids, request, resolve, reject };
      this.queue.push(job);
      signal?.addEventListener("abort", () => this.abandon(job), { once: true });
      this.next();
    });
  }

  private start() {
    this.worker?.terminate();
    this.isReady = false;
    this.worker = new Worker(this.script);
    this.worker.onmessage = (event) => this.hear(event.data);
    this.worker.onerror = (event) => this.fail(event.message || "the engine stopped");
    this.worker.postMessage(this.module);
  }

  private next() {
    if (!this.isReady || this.running || !this.queue.length) return;
    const job = (this.running = this.queue.shift()!);
    this.deadline = window.setTimeout(() => this.fail(`stopped after ${longest / 1000} s without an answer`), longest);
    this.worker!.postMessage({ id: job.id, request: job.request });
  }

  private hear(message: { ready?: boolean; died?: boolean; id?: number; answer?: string; took?: number }) {
    if (message.died) return this.fail("the engine stopped");
    if (message.ready) this.isReady = true;
    const job = this.running;
    if (job && job.id === message.id) {
      this.finish();
      const value = JSON.parse(message.answer!);
      if (value.error) job.reject(new Error(value.error));
      else job.resolve({ value, took: message.took! });
    }
    this.next();
  }

  private finish() {
    clearTimeout(this.deadline);
    this.running = undefined;
  }

  /** fail cancels the running question and ends its worker. */
  private fail(why: string) {
    const job = this.running;
    this.finish();
    job?.reject(new Error(why));
    this.start();
  }

  private abandon(job: Job) {
    const waiting = this.queue.indexOf(job);
    if (waiting >= 0) {
      this.queue.splice(waiting, 1);
      job.reject(new Abandoned());
    } else if (this.running === job) {
      setTimeout(() => this.running === job && this.fail("out of date"), patience);
    }
  }
}

/** Abandoned is the error of an outdated question. */
export class Abandoned extends Error {}

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
