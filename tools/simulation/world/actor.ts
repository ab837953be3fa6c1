import { promisesEnd } from '../engine/virtual-time.ts';

/** A call of an actor that waits for its outcome. */
export interface Call {
  readonly id: number;
  readonly port: string;
  readonly args: readonly unknown[];
}

/** What a call ended with, as data. */
export type Outcome = { readonly ok: unknown } | { readonly error: Error };

export interface Answer {
  readonly id: number;
  readonly outcome: Outcome;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** All that a program sees of the world: the outcomes of its calls, the time of its last answer, draws. */
export interface Env {
  readonly call: <T>(port: string, ...args: unknown[]) => Promise<T>;
  readonly clock: () => Date;
  readonly random: () => number;
  /** Notes an error that the program keeps to itself. */
  readonly fault: (error: unknown) => void;
}

export type Program = (env: Env) => Promise<unknown>;

/** A small number for each text and each object, so that states can be compared and counted. */
export class Numbers {
  readonly #texts = new Map<string, number>();
  readonly #objects = new WeakMap<object, number>();

  ofText(text: string): number {
    const known = this.#texts.get(text) ?? this.#texts.size;
    if (known === this.#texts.size) this.#texts.set(text, known);
    return known;
  }

  /** Objects are never changed here, so that each is written as JSON once. */
  of(value: unknown): number {
    if (typeof value !== 'object' || value === null) return this.ofText(String(value));
    const known = this.#objects.get(value) ?? this.ofText(JSON.stringify(value));
    this.#objects.set(value, known);
    return known;
  }
}

/** As many as the token of a claim tells apart. A draw is so small that every backoff is the shortest, to the millisecond. */
const DRAWS = 36 ** 6;

/** A run of deployed code. */
class Run {
  readonly waiting: (Call & { resolve(value: unknown): void; reject(error: Error): void })[] = [];
  now: number;
  ended = false;
  fault: unknown;
  #calls = 0;
  #draws = 0;

  constructor(program: Program, name: string, now: number, draws: Numbers) {
    this.now = now;
    const call: Env['call'] = (port, ...args) =>
      new Promise((resolve, reject) => {
        this.waiting.push({ id: this.#calls++, port, args, resolve: resolve as (value: unknown) => void, reject });
      });
    const random = () => (draws.ofText(`${name} draws ${this.#draws++}`) + 0.5) / DRAWS;
    const fault = (error: unknown) => {
      this.fault = error;
    };
    program({ call, random, fault, clock: () => new Date(this.now) })
      .catch(fault)
      .finally(() => {
        this.ended = true;
      });
  }

  async resume({ id, outcome, now }: Answer): Promise<void> {
    const [call] = this.waiting.splice(
      this.waiting.findIndex((one) => one.id === id),
      1,
    );
    this.now = now;
    if ('ok' in outcome) call?.resolve(outcome.ok);
    else call?.reject(outcome.error);
    await promisesEnd();
  }
}

/**
 * How far an actor has come: what it has been answered so far. Actors are deterministic, so this is all of their local
 * state. With `remember`, equal pasts share one Moment, and deployed code runs only for a past that is new.
 */
export class Moment {
  readonly id: number;
  /** Of its last answer, in epoch milliseconds. */
  readonly now: number;
  readonly calls: readonly Call[];
  readonly ended: boolean;
  readonly fault: unknown;
  readonly #script: Script;
  readonly #past: readonly Answer[];
  readonly #next = new Map<string, Moment>();
  #run: Run | undefined;

  private constructor(id: number, now: number, run: Run, script: Script, past: readonly Answer[]) {
    this.id = id;
    this.now = now;
    this.#run = run;
    this.#script = script;
    this.#past = past;
    this.ended = run.ended;
    this.fault = run.fault;
    this.calls = run.waiting.map(({ id, port, args }) => ({ id, port, args }));
  }

  /** @param name says everything about the program: programs of one name are the same */
  static async first(name: string, program: Program, now: number, troupe: Troupe): Promise<Moment> {
    const key = `${name} ${now}`;
    const known = troupe.remember ? troupe.first.get(key) : undefined;
    if (known !== undefined) return known;
    const begin = () => new Run(program, name, now, troupe.draws);
    const run = begin();
    await promisesEnd();
    const moment = new Moment(troupe.numbers.ofText(key), now, run, { troupe, begin }, []);
    troupe.first.set(key, moment);
    return moment;
  }

  async after(answer: Answer): Promise<Moment> {
    const { remember, numbers } = this.#script.troupe;
    const { id, now, outcome } = answer;
    const said = 'ok' in outcome ? (JSON.stringify(outcome.ok) ?? 'nothing') : `! ${outcome.error.name}`;
    const key = `${this.id} ${id} ${now} ${numbers.ofText(said)}`;
    const known = remember ? this.#next.get(key) : undefined;
    if (known !== undefined) return known;
    const run = await this.#takeRun();
    await run.resume(answer);
    const moment = new Moment(numbers.ofText(key), now, run, this.#script, [...this.#past, answer]);
    if (remember) this.#next.set(key, moment);
    return moment;
  }

  /** The run that stands here; where another history has taken it on, one that the same answers bring here. */
  async #takeRun(): Promise<Run> {
    const here = this.#run;
    this.#run = undefined;
    if (here !== undefined) return here;
    const run = this.#script.begin();
    await promisesEnd();
    for (const answer of this.#past) await run.resume(answer);
    return run;
  }
}

/** The actors of one exploration. */
export class Troupe {
  readonly numbers = new Numbers();
  /** By name of an actor: two of its draws, or of two actors, are never the same. */
  readonly draws = new Numbers();
  readonly first = new Map<string, Moment>();
  readonly remember: boolean;

  constructor(options: { readonly remember: boolean }) {
    this.remember = options.remember;
  }
}

interface Script {
  readonly troupe: Troupe;
  /** Another run, from the beginning. */
  readonly begin: () => Run;
}
