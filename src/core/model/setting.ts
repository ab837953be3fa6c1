/** What a number is unless the stage sets it: one for all, or one for each name. */
type Standard = number | { readonly [name: string]: Standard };

/**
 * A number that a stage may set. Its declaration is the only one: types, the check of a stage's configuration, the
 * functions' environment, and the rows of docs/reference/configuration.md follow from it and from the comment above it.
 */
export interface NumberSetting {
  /** The range, both ends included. */
  readonly from: number;
  readonly to: number;
  /** What is counted, for messages. */
  readonly unit: string;
  readonly whole?: true;
  /** Absent: nothing stands for it where the stage does not set it. */
  readonly standard?: Standard;
  /** Its name in the functions' environment. Absent: only the stack reads it. */
  readonly name?: string;
  /** In a function's environment it may also be 0. */
  readonly orZero?: true;
}

/** Settings that functions read. */
export type NamedSettings = Readonly<Record<string, NumberSetting & { readonly name: string }>>;

/** Numbers in place of the very numbers of a declaration. */
export type Widened<T> = T extends number ? number : { readonly [K in keyof T]: Widened<T[K]> };

/** The values of settings as functions read them. */
export type Configured<S extends NamedSettings> = {
  readonly [K in keyof S as S[K] extends { standard: unknown } ? S[K]['name'] : never]: Widened<S[K]['standard']>;
} & { readonly [K in keyof S as S[K] extends { standard: unknown } ? never : S[K]['name']]?: number };

/** The values of a stage that sets none. */
/* @__NO_SIDE_EFFECTS__ */
export function standardsOf<S extends NamedSettings>(settings: S): Configured<S> {
  const known = Object.values(settings).filter(({ standard }) => standard !== undefined);
  return Object.fromEntries(known.map(({ name, standard }) => [name, standard])) as Configured<S>;
}

export type Keyed = Readonly<Record<string, unknown>>;
/** Where a synthesized template has the stage's settings, in its metadata. */
export const STAGE_IN_TEMPLATE = 'notification-retry';

type Override = readonly [path: string, value: unknown];

/** What a stage's settings begin with in the CDK context, where one value is replaced: `-c notification-retry.api=false`. */
export const OVERRIDE = 'notification-retry.';

/** Path and value of each `notification-retry.<path>` of the CDK context. */
export function overridesIn(context: Keyed): readonly Override[] {
  return Object.entries(context)
    .filter(([key]) => key.startsWith(OVERRIDE))
    .map(([key, value]) => [key.slice(OVERRIDE.length), fromCommandLine(value)] as const);
}

/** A stage's settings with these values in place of their own. */
export function overridden(config: Keyed, overrides: readonly Override[]): Keyed {
  return overrides.reduce(withValueAt, config);
}

/** The command line gives text only. Text that is valid JSON, such as a number, is read as JSON. */
function fromCommandLine(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function withValueAt(config: Keyed, [path, value]: Override): Keyed {
  const [key = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...config, [key]: value };
  const inner = config[key];
  return { ...config, [key]: withValueAt(isKeyed(inner) ? inner : {}, [rest.join('.'), value]) };
}

export function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
