import type { ComponentChildren } from 'preact';
import type { ProblemBody } from '../../src/application/contract/fields.ts';
import type { Reading } from '../data/use-read.ts';
import { said, t } from '../language/language.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Ops, Shell } from './shell-command.tsx';

export interface EmptyProps {
  readonly icon?: IconName;
  readonly title: string;
  readonly text?: string;
  /** The way on: a page, and what the link says. */
  readonly next?: { readonly href: string; readonly name: string } | undefined;
  readonly children?: ComponentChildren;
}

/** Nothing matches: the same list without filters is one click away. */
export const noResults = (href: string): EmptyProps => ({
  icon: 'search',
  title: t('No results for these filters'),
  next: { href, name: t('Clear filters') },
});

export function Empty({ icon = 'check', title, text, next, children }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {(text ?? children) !== undefined && (
        <div class="soft rows">
          {text !== undefined && <p>{text}</p>}
          {children}
        </div>
      )}
      {next !== undefined && (
        <a class="button" href={next.href}>
          {next.name}
        </a>
      )}
    </div>
  );
}

/** Grey lines in the place of what is loading, so that nothing jumps when it comes. */
export function Loading({ lines = 6, what }: { readonly lines?: number; readonly what: string }) {
  return (
    <div class="rows" role="status">
      <span class="visually-hidden">{t('Loading {what}', { what })}</span>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} class="skeleton" />
      ))}
    </div>
  );
}

interface AwaitProps<T> {
  readonly reading: Reading<T>;
  readonly what: string;
  readonly lines?: number;
  readonly children: (data: T) => ComponentChildren;
}

/** What was read, above it why it could not be read again; or that it is coming. */
export function Await<T>({ reading: { data, problem, refresh }, what, lines, children }: AwaitProps<T>) {
  return (
    <>
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {data === undefined && problem === undefined && <Loading what={what} {...(lines && { lines })} />}
      {data !== undefined && children(data)}
    </>
  );
}

/** What is wrong, what a person does about it, and the line for the shell. */
export function Problem({ problem, onRetry }: { readonly problem: ProblemBody; readonly onRetry?: () => void }) {
  const { status, errors = [], detail } = problem;
  const denied = status === 403;
  // What is wrong with each field stands below, with its name.
  const isRepeated = errors.length > 0 && errors.every(({ message }) => detail.includes(message));
  return (
    <div class="problem remedy tone-bad" role="alert">
      <Icon name="alert" />
      <div class="rows tight">
        <h2>{denied ? t('You do not have the right for this') : said(problem.title)}</h2>
        {!isRepeated && <p>{said(detail)}</p>}
        {errors.map(({ path, message }) => (
          <p key={path + message}>
            <code>{path}</code> {said(message)}
          </p>
        ))}
        <p>
          <strong>{t('What to do:')}</strong> {said(problem.remedy)}
        </p>
        {problem.command === undefined ? (
          <Ops command="status" />
        ) : (
          <Shell label={t('In the shell')} command={problem.command} />
        )}
        {onRetry !== undefined && status !== 404 && <Button name={t('Try again')} onClick={onRetry} />}
      </div>
    </div>
  );
}
