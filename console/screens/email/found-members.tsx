import type { ImportedMembers } from '../../../src/application/contract/newsletters.ts';
import { count, plural, said, t } from '../../language/language.ts';

/** As the form calls the command's options. */
const inWords = (message: string): string =>
  message.replaceAll('--newsletter', `“${t('Newsletter')}”`).replaceAll(/--as\b/g, `“${t('All of them are')}”`);

/** What an import would do, and which lines it would leave. */
export function FoundMembers({ preview }: { readonly preview: ImportedMembers }) {
  const { created, changed, bad, skipped, unsubscribed, suppressed, faults } = preview;
  return (
    <div class="rows" role="status">
      <dl class="preview-figures">
        <div class="is-main">
          <dt>{t('New')}</dt>
          <dd>{count(created)}</dd>
        </div>
        <div>
          <dt>{t('Known')}</dt>
          <dd>{count(changed)}</dd>
        </div>
        <div>
          <dt>{t('Bad lines')}</dt>
          <dd>{count(bad)}</dd>
        </div>
      </dl>
      <ul class="reasons">
        {unsubscribed > 0 && (
          <li>
            {plural(
              unsubscribed,
              'line says that somebody has unsubscribed.',
              'lines say that somebody has unsubscribed.',
            )}
          </li>
        )}
        {suppressed > 0 && <li>{plural(suppressed, 'line suppresses an address.', 'lines suppress an address.')}</li>}
        {skipped > 0 && (
          <li>
            {plural(
              skipped,
              'line is left out: deleted or not confirmed there.',
              'lines are left out: deleted or not confirmed there.',
            )}
          </li>
        )}
        {faults.map(({ line, column, message }, i) => (
          <li key={i}>
            <strong>{t('Line {n}', { n: line })}</strong>: {column === '' ? t('it') : <code>{column}</code>}{' '}
            {t('{says}.', { says: said(inWords(message)) })}
          </li>
        ))}
        {bad > faults.length && <li>{t('The command names all of them (--rejects).')}</li>}
      </ul>
    </div>
  );
}
