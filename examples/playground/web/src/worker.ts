// worker.ts runs the engine in a worker. It first gets the compiled module, then questions one by
// one.

import "wasm_exec";

declare const Go: new () => { importObject: WebAssembly.Imports; run(instance: WebAssembly.Instance): Promise<void> };
declare function preadmit(request: string): string;

let asked = 0; // the question that is being answered
/** preadmitProgress is called by the engine. */
(globalThis as any).preadmitProgress = (done: number, total: number) => self.postMessage({ id: asked, progress: { done, total } });

self.onmessage = async (event: MessageEvent<WebAssembly.Module | { id: number; request: string }>) => {
  if (event.data instanceof WebAssembly.Module) {
    const go = new Go();
    const instance = await WebAssembly.instantiate(event.data, go.importObject);
    void go.run(instance).then(() => self.postMessage({ died: true }));
    self.postMessage({ ready: true });
    return;
  }
  const { id, request } = event.data;
  asked = id;
  const start = performance.now();
  const answer = preadmit(request);
  self.postMessage({ id, answer, took: performance.now() - start });
};
