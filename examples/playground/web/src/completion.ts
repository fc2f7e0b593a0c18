// completion.ts proposes the names of fields.

import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";

export function completeFrom(_: CompletionContext): CompletionResult | null {
  return null;
}
