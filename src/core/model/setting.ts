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
