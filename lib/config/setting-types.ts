import type { NumberSetting, Widened } from '../../src/core/model/setting.ts';

/** What is no number, as a schema checks it. The package's types cannot name the schema, because users do not have it. */
export interface Check<Value, Given = Value> {
  readonly value: Value;
  readonly given: Given;
}

/**
 * What a stage may set. A number says all about itself; `standard` is what stands for a value that the stage does not
 * set; a section has settings of its own. The comment above a setting is its row in docs/reference/configuration.md:
 * the English meaning, the Japanese one after `@ja` and, where no value stands for it, what holds then after `@absent`,
 * as `English | Japanese`.
 */
export type Setting =
  | (NumberSetting & { readonly required?: true })
  | { readonly check: Check<unknown, unknown>; readonly standard?: unknown; readonly required?: true }
  | {
      readonly section: Settings;
      readonly required?: true;
      readonly optional?: true;
      /** `false` stands for none of it. */
      readonly orFalse?: true;
    };
export type Settings = { readonly [key: string]: Setting };

type ValueOf<S> = S extends { section: infer Inner extends Settings }
  ? Values<Inner> | OrFalse<S>
  : S extends { check: Check<infer Value, unknown> }
    ? Value
    : S extends { standard: infer Standard }
      ? Widened<Standard>
      : number;

type GivenOf<S> = S extends { section: infer Inner extends Settings }
  ? Given<Inner> | OrFalse<S>
  : S extends { check: Check<unknown, infer Some> }
    ? Some
    : S extends { standard: infer Standard }
      ? Partly<Widened<Standard>>
      : number;

type OrFalse<S> = S extends { orFalse: true } ? false : never;
type Partly<T> = T extends number ? number : { readonly [K in keyof T]?: Partly<T[K]> | undefined };
type WithoutStandard = { required: true } | { optional: true };
type KeysWithStandard<S> = {
  [K in keyof S]: S[K] extends WithoutStandard
    ? never
    : S[K] extends { standard: unknown } | { section: unknown }
      ? K
      : never;
}[keyof S];
type RequiredKeys<S> = { [K in keyof S]: S[K] extends { required: true } ? K : never }[keyof S];
type AbsentKeys<S> = Exclude<keyof S, KeysWithStandard<S> | RequiredKeys<S>>;

/** The values of settings, checked and with every default filled in. */
export type Values<S extends Settings> = {
  readonly [K in keyof Pick<S, KeysWithStandard<S> | RequiredKeys<S>>]: ValueOf<S[K]>;
} & { readonly [K in keyof Pick<S, AbsentKeys<S>>]?: ValueOf<S[K]> };

/** The values as a user writes them. */
export type Given<S extends Settings> = { readonly [K in keyof Pick<S, RequiredKeys<S>>]: GivenOf<S[K]> } & {
  readonly [K in keyof Pick<S, AbsentKeys<S>>]?: GivenOf<S[K]>;
} & { readonly [K in keyof Pick<S, KeysWithStandard<S>>]?: GivenOf<S[K]> | undefined };
