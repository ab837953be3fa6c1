import { Troupe } from '../world/actor.ts';
import type { Saved, Scope } from '../world/state.ts';
import { type Choice, World } from '../world/world.ts';

export interface Terms {
  /** Stops then, exhausted or not. */
  readonly seconds: number;
  /** Shortest histories first, until one breaks a promise: the engine of saved states only. */
  readonly shortest?: boolean;
}

export interface Exploration {
  readonly histories: number;
  readonly states: number;
  readonly steps: number;
  /** The longest history, in steps. */
  readonly deepest: number;
  readonly exhausted: boolean;
  readonly seconds: number;
  /** By broken promise: the shortest history that was met, one line a step. */
  readonly violations: ReadonlyMap<string, readonly string[]>;
}

class Progress {
  readonly violations = new Map<string, readonly string[]>();
  readonly #terms: Terms;
  readonly #began = performance.now();
  /** By state: the most faults that were left in it. */
  readonly #seen = new Map<number, number>();
  readonly #quiet = new Set<number>();
  #histories = 0;
  #steps = 0;
  #deepest = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  get over(): boolean {
    const found = this.#terms.shortest === true && this.violations.size > 0;
    return found || performance.now() - this.#began > this.#terms.seconds * 1000;
  }

  stepped(depth: number): void {
    this.#steps += 1;
    this.#deepest = Math.max(this.#deepest, depth);
  }

  /** Whether the state was reached before with as many faults left. */
  isKnown(world: World): boolean {
    const key = hash(world.key());
    if ((this.#seen.get(key) ?? -1) >= world.faults) return true;
    this.#seen.set(key, world.faults);
    return false;
  }

  known(): void {
    this.#histories += 1;
  }

  /** Ends a history: what is left to do is done without faults, unless a promise is broken already. */
  async end(world: World, story: () => readonly string[]): Promise<void> {
    this.#histories += 1;
    await world.quiet((key) => {
      const [before, hashed] = [this.#quiet.size, hash(key)];
      return this.#quiet.add(hashed).size === before;
    });
    for (const what of world.violations) {
      const lines = story();
      if ((this.violations.get(what)?.length ?? Number.POSITIVE_INFINITY) > lines.length)
        this.violations.set(what, lines);
    }
  }

  result(exhausted: boolean): Exploration {
    const seconds = (performance.now() - this.#began) / 1000;
    const [histories, steps, deepest] = [this.#histories, this.#steps, this.#deepest];
    return { histories, states: this.#seen.size, steps, deepest, exhausted, seconds, violations: this.violations };
  }
}

interface Level {
  at: number;
  of: number;
  label: string;
}

/** Each history from its beginning: the choices of the one before, but for the last that had another one. */
export async function reexecute(scope: Scope, terms: Terms): Promise<Exploration> {
  const progress = new Progress(terms);
  const troupe = new Troupe({ remember: false });
  const path: Level[] = [];
  for (let exhausted = false; !exhausted; ) {
    if (progress.over) return progress.result(false);
    await followPath(new World(scope, troupe), path, progress);
    for (let last = path.at(-1); last && last.at + 1 === last.of; last = path.at(-1)) path.pop();
    const last = path.at(-1);
    if (last) last.at += 1;
    exhausted = last === undefined;
  }
  return progress.result(true);
}

/** Follows the path, and beyond it takes the first choice of each state until one is known. */
async function followPath(world: World, path: Level[], progress: Progress): Promise<void> {
  for (let depth = 0; ; depth++) {
    const choices = world.choices();
    if (choices.length === 0 || world.violations.length > 0)
      return progress.end(world, () => path.slice(0, depth).map(({ label }) => label));
    const fresh = depth === path.length;
    if (fresh) path.push({ at: 0, of: choices.length, label: '' });
    const level = path[depth] as Level;
    const choice = choices[level.at] as Choice;
    level.label = choice.label;
    await world.step(choice);
    progress.stepped(depth + 1);
    const last = depth === path.length - 1;
    if (last && world.violations.length === 0 && progress.isKnown(world)) return progress.known();
  }
}

interface Kept {
  readonly saved: Saved;
  readonly label: string;
  readonly before?: Kept;
  readonly depth: number;
}

/** From saved states: each step is taken once, and deployed code runs only for a past of an actor that is new. */
export async function fromStates(scope: Scope, terms: Terms): Promise<Exploration> {
  const progress = new Progress(terms);
  const world = new World(scope, new Troupe({ remember: true }));
  let next: Kept[] = [{ saved: world.save(), label: '', depth: 0 }];
  let deeper: Kept[] = [];
  for (;;) {
    if (progress.over) return progress.result(false);
    if (next.length === 0) [next, deeper] = [deeper.reverse(), []];
    const from = next.pop();
    if (from === undefined) return progress.result(true);
    world.restore(from.saved);
    const choices = world.choices();
    if (choices.length === 0) await progress.end(world, () => storyOf(from));
    for (const choice of terms.shortest ? choices : choices.reverse()) {
      world.restore(from.saved);
      await world.step(choice);
      progress.stepped(from.depth + 1);
      const kept = { saved: world.save(), label: choice.label, before: from, depth: from.depth + 1 };
      if (world.violations.length > 0) await progress.end(world, () => storyOf(kept));
      else if (!progress.isKnown(world)) (terms.shortest ? deeper : next).push(kept);
    }
  }
}

const storyOf = ({ before, label }: Kept): string[] => (before ? [...storyOf(before), label] : []);

export interface Followed {
  /** The steps that could be taken. */
  readonly taken: readonly string[];
  readonly violations: readonly string[];
}

/**
 * Takes the steps of a story, as far as they can still be taken, then lets the world become quiet. A story that is kept
 * as a test holds when its promise does, also where the code has changed so that some of its steps are gone.
 */
export async function follow(scope: Scope, story: readonly string[]): Promise<Followed> {
  const world = new World(scope, new Troupe({ remember: false }));
  const taken: string[] = [];
  for (const line of story) {
    const choice = world.choices().find(({ label }) => label === line);
    if (choice === undefined) continue;
    await world.step(choice);
    taken.push(line);
    if (world.violations.length > 0) break;
  }
  await world.quiet(() => false);
  return { taken, violations: world.violations };
}

/** 53 bits of a text (cyrb53): with a million states, two share one in one of ten thousand explorations. */
function hash(text: string): number {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
