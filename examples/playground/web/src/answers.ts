// answers.ts has the types of the engine's answers; see the Go package answer.

export interface Place {
  file: string;
  line?: number;
  column?: number;
}

export interface Step {
  policy?: string;
  binding?: string;
  param?: string;
  rule?: string;
  /** plugin is an admission plug-in of the API server, if it is the author. */
  plugin?: string;
  disposition: string;
  at?: Place;
  pass?: number;
  op: string;
  path: string;
  old?: unknown;
  new?: unknown;
}

export interface Edit {
  op: string;
  path: string;
  old?: unknown;
  new?: unknown;
  at?: Place;
  causes: Step[] | null;
}

export interface NotApplied {
  policy?: string;
  binding?: string;
  param?: string;
  rule?: string;
  at?: Place;
  reason: string;
}

export interface Manifest {
  id: string;
  at?: Place;
  edits: Edit[];
  dropped?: Step[];
  notApplied?: NotApplied[];
}

export interface Diagnostic {
  severity: "info" | "warning" | "error";
  code: string;
  message: string;
  advice?: string;
  subject?: string;
  field?: string;
  at?: Place;
}

export interface Line {
  text: string;
  before?: number;
  after?: number;
  edit?: [number, number];
}

export interface Result {
  status: "done" | "denied" | "invalid" | "empty";
  output: string;
  files: { name: string; lines: Line[] }[];
  report: { manifests: Manifest[]; changed: number; diagnostics: Diagnostic[] };
}

export interface Findings {
  findings: Diagnostic[];
}

export interface Views {
  lines: { text: string; filled?: boolean }[];
  notes: Findings;
}

export interface Download {
  name: string;
  data: string;
}

/** who returns the author of a step: a policy, or a part of the server. */
export function who(step: { policy?: string; plugin?: string; disposition?: string }): string {
  return step.policy ?? step.plugin ?? (step.disposition === "normalized" ? "normalized" : "the API server");
}

/** rule returns the other details of a step. */
export function rule(step: { policy?: string; binding?: string; param?: string; rule?: string; plugin?: string; pass?: number; disposition?: string }): string {
  const parts = [];
  if (step.binding && step.binding !== step.policy) parts.push("binding " + step.binding);
  if (step.param) parts.push("param " + step.param);
  if (step.rule) parts.push(step.rule);
  if (!step.policy && !step.plugin && step.disposition) parts.push(step.disposition);
  if ((step.pass ?? 0) > 1) parts.push("reinvoked");
  return parts.join(", ");
}

/** Field is a field that can be added at the cursor. */
export interface Field {
  name: string;
  type: string;
  doc: string;
  insert: string;
}

/** Completion is what can be written instead of a word that ends at the cursor. */
export interface Completion {
  word: string;
  fields: Field[];
}

/** Hover describes what is at a position, in Markdown. */
export interface Hover {
  text: string;
}
