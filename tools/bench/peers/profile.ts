import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Where the CPU of a delivery goes: the first that matches the source and function of the innermost frame of the bundle. */
const SUBJECTS: readonly (readonly [subject: string, frame: RegExp])[] = [
  ['signing', /sigv4|hashed-ids|signature-v4|sender\.ts (sign|keyOf)/],
  ['log and metrics', /powertools|telemetry|observability|middy/],
  ['decryption', /adapters\/sealing/],
  ['credentials', /adapters\/secrets/],
  ['gates', /core\/(breaker|pacing)/],
  ['storage calls', /adapters\/(dynamodb|batching)|@smithy|@aws-sdk/],
  ['posts', /adapters\/(http|webhook)/],
  ['rules of a delivery', /src\/core|functions\//],
  ['garbage collection', /^ \(garbage collector\)/],
  ['sockets and HTTP in Node', /^node:(_http|net|internal\/(stream|http)|events)/],
];

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/**
 * The shares of the subjects in a profile of a bundle that is not minified, the largest first. V8 samples by the clock: on
 * a busy machine calls of the kernel, such as writes to sockets, seem longer than they are.
 */
export function sharesOf(profile: CpuProfile): readonly (readonly [subject: string, share: number])[] {
  const sources = new Map<string, readonly string[]>();
  const subjects = new Map<number, string>();
  const classify = (id: number, outer: string): void => {
    const { callFrame, children = [] } = byId.get(id) ?? NONE;
    const own = subjectOf(callFrame, sources);
    // What Node does for a caller in the bundle is part of the caller's subject.
    const subject = own === undefined || (callFrame.url.startsWith('node:') && outer !== REST) ? outer : own;
    subjects.set(id, subject);
    for (const child of children) classify(child, subject);
  };
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  classify(profile.nodes[0]?.id ?? 0, REST);
  const idle = new Set(
    profile.nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id),
  );
  const times = new Map<string, number>();
  profile.samples.forEach((id, i) => {
    const subject = subjects.get(id) ?? REST;
    if (!idle.has(id)) times.set(subject, (times.get(subject) ?? 0) + (profile.timeDeltas[i] ?? 0));
  });
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  return [...times].map(([subject, time]) => [subject, time / total] as const).sort((a, b) => b[1] - a[1]);
}

const REST = 'everything else';
const NONE = { callFrame: { functionName: '', url: '', lineNumber: 0 }, children: [] };

function subjectOf(
  { functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame'],
  sources: Map<string, readonly string[]>,
): string | undefined {
  const source = url.endsWith('.mjs') ? sourceAt(url, lineNumber, sources) : url;
  return SUBJECTS.find(([, frame]) => frame.test(`${source} ${functionName}`))?.[0];
}

/** esbuild names each source in a comment above its text. */
function sourceAt(url: string, line: number, sources: Map<string, readonly string[]>): string {
  let lines = sources.get(url);
  if (lines === undefined) {
    let source = basename(url);
    lines = readFileSync(new URL(url), 'utf8')
      .split('\n')
      .map((text) => {
        source = /^\/\/ ((?:src|functions|node_modules)\/\S+)$/.exec(text)?.[1] ?? source;
        return source;
      });
    sources.set(url, lines);
  }
  return lines[line] ?? '';
}
