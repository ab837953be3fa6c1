import { type MergeUse, mergeUses } from '../../core/newsletter/model/merge-fields.ts';
import type { BulkEntry, Rendering } from '../../core/newsletter/model/provider.ts';
import { escapeHtml } from '../content/html-text.ts';

/** A rendering as SES's inline template: Handlebars, which does not escape what it fills in. */
export interface Template {
  readonly Subject: string;
  readonly Html: string;
  readonly Text: string;
}

/** Variables for the characters that Handlebars would take for its own. */
const LITERALS = { lb: '{', rb: '}', bs: '\\' } as const;

/** A variable of a template, and the use of a field that it stands for. */
interface Variable {
  readonly name: string;
  readonly form: Form;
  readonly use: MergeUse;
}

/** Made once per rendering: looking for variables in the whole post for each member would be most of a call's work. */
interface Prepared {
  readonly template: Template;
  readonly variables: readonly Variable[];
  readonly literals: Readonly<Record<string, string>>;
}

const preparedOf = new WeakMap<Rendering, Prepared>();

function prepare(rendering: Rendering): Prepared {
  const known = preparedOf.get(rendering);
  if (known !== undefined) return known;
  const { subject, html, text } = rendering;
  const template = { Subject: filled(subject, 'text'), Html: filled(html, 'html'), Text: filled(text, 'text') };
  const parts = Object.values(template);
  const of = (form: Form, uses: readonly MergeUse[]) => uses.map((use) => ({ name: variable(use, form), form, use }));
  const prepared = {
    template,
    variables: [...of('text', mergeUses(subject, text)), ...of('html', mergeUses(html))],
    literals: Object.fromEntries(
      Object.entries(LITERALS).filter(([name]) => parts.some((part) => part.includes(`{{${name}}}`))),
    ),
  };
  preparedOf.set(rendering, prepared);
  return prepared;
}

/** Replaces merge fields by the template's variables; everything else arrives as it was written. */
export function templateOf(rendering: Rendering): Template {
  return prepare(rendering).template;
}

/**
 * Every variable of the template: SES takes default data only for an entry that has none of its own, and a variable
 * without a value fails after the mail was accepted.
 */
export function entryData({ values }: Pick<BulkEntry, 'values'>, rendering: Rendering): string {
  const { variables, literals } = prepare(rendering);
  const data: Record<string, string> = { ...literals };
  for (const { name, form, use } of variables) {
    const value = filledIn(use, values);
    data[name] = form === 'html' ? escapeHtml(value) : value;
  }
  return JSON.stringify(data);
}

type Form = 'text' | 'html';

function filledIn({ field, fallback }: MergeUse, values: BulkEntry['values']): string {
  return values[field] ?? fallback ?? '';
}

/** Two uses of a field may have different fallbacks, so each fallback makes a variable of its own. */
function variable({ field, fallback }: MergeUse, form: Form): string {
  const suffix = fallback === undefined ? '' : `_${Buffer.from(fallback).toString('hex')}`;
  return `${form}_${field}${suffix}`;
}

function filled(text: string, form: Form): string {
  const uses = mergeUses(text);
  if (uses.length === 0) return literal(text);
  const byText = new Map(uses.map((use) => [use.text, use]));
  const anyUse = new RegExp(`(?<!\\{)(${uses.map((use) => escapeRegExp(use.text)).join('|')})(?!\\})`);
  return text
    .split(anyUse)
    .map((part, i) => {
      const use = i % 2 === 1 ? byText.get(part) : undefined;
      return use === undefined ? literal(part) : `{{${variable(use, form)}}}`;
    })
    .join('');
}

/**
 * A single brace or backslash inside a text is harmless. Runs of them, and those at its edges, where a variable may
 * follow or precede, would be read by Handlebars.
 */
function literal(text: string): string {
  return text.replaceAll(/[{}\\]{2,}|^[{}\\]|[{}\\]$/g, (run) =>
    [...run].map((char) => (char === '{' ? '{{lb}}' : char === '}' ? '{{rb}}' : '{{bs}}')).join(''),
  );
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
