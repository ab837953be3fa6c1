import { useContext, useId, useRef, useState } from 'preact/hooks';
import { MOST_FILE_BYTES, quoted } from '../../../src/application/contract/choices.ts';
import type { ImportedMembers } from '../../../src/application/contract/newsletters.ts';
import { FILE_STANDINGS, MEMBER_STATUSES } from '../../../src/core/newsletter/model/member.ts';
import { write } from '../../data/api.ts';
import { newRequestId, useDecision } from '../../data/decision.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { count, plural, t } from '../../language/language.ts';
import { Button, Why } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { FoundMembers } from './found-members.tsx';

interface ImportProps {
  readonly tenant: string;
  /** Ids of the newsletters that it may be into. */
  readonly newsletters: readonly string[];
  readonly newsletter: string | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** What the form says, as the API takes it, without the file's content. */
function optionsIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const newsletter = text('newsletter');
  const labels = text('labels')
    .split(',')
    .flatMap((label) => label.trim() || []);
  const as = FILE_STANDINGS.find((standing) => standing === text('as'));
  const status = MEMBER_STATUSES.find((one) => one === text('status'));
  return { ...(newsletter && { newsletter }), ...(as && { as }), ...(status && { status }), labels };
}

const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

function commandFor(tenant: string, options: Partial<ReturnType<typeof optionsIn>>): string {
  const { labels = [], ...named } = options;
  const flags = [...Object.entries(named), ...labels.map((label) => ['label', label] as const)];
  const given = flags.map(([name, value]) => ` --${name} ${quoted(String(value))}`).join('');
  return `members import FILE.csv --tenant ${quoted(tenant)}${given}`;
}

/** What is chosen, what an import of it would do, and the import itself, in as many requests as it takes. */
function useImport({ tenant, onClose, onDone }: ImportProps) {
  const form = useRef<HTMLFormElement>(null);
  const [preview, setPreview] = useState<ImportedMembers>();
  const [options, setOptions] = useState<Partial<ReturnType<typeof optionsIn>>>({});
  const after = useRef(0);
  const [line, setLine] = useState<number>();
  const { busy, problem, decide, renew } = useDecision(
    async (request_id, act: (request_id: string, body: Awaited<ReturnType<typeof bodyOf>>) => Promise<void>) => {
      if (form.current?.reportValidity()) await act(request_id, await bodyOf(tenant, form.current));
    },
  );
  const changed = () => {
    renew();
    setPreview(undefined);
    after.current = 0;
    if (form.current !== null) setOptions(optionsIn(new FormData(form.current)));
  };
  const look = () => decide(async (_, body) => setPreview(await write('POST /api/members/import-preview', {}, body)));
  const store = () =>
    decide(async (request_id, body) => {
      let [created, changed] = [0, 0];
      for (let id = request_id, next: number | null = after.current; next !== null; id = newRequestId()) {
        const done: ImportedMembers = await write(
          'POST /api/members/import',
          {},
          { ...body, request_id: id, after: next },
        );
        created += done.created;
        changed += done.changed;
        next = done.next;
        after.current = next ?? 0;
        setLine(done.line);
      }
      showToast(
        'done',
        t('{created}, {known} were known.', {
          created: plural(created, 'member is new', 'members are new'),
          known: count(changed),
        }),
      );
      onClose();
      onDone();
    });
  return { form, preview, options, line, busy, problem, changed, look, store };
}

async function bodyOf(tenant: string, form: HTMLFormElement) {
  const given = new FormData(form);
  const file = given.get('file') as File;
  return { tenant, ...optionsIn(given), file_name: file.name, content: await base64Of(file) };
}

/** Adds or changes members from a file, by the rules of the command; only as somebody looked at what it would do. */
export function ImportMembers(props: ImportProps) {
  const { tenant, newsletters, newsletter, onClose } = props;
  const session = useContext(SessionContext);
  const { form, preview, options, line, busy, problem, ...act } = useImport(props);
  const good = preview === undefined ? 0 : preview.created + preview.changed;
  const importing = busy && preview !== undefined;
  return (
    <Dialog
      title={t('Import members')}
      stays
      onClose={onClose}
      actions={
        <>
          {!busy && good === 0 && (
            <Why>{preview === undefined ? t('Preview the file first.') : t('No line of it can be imported.')}</Why>
          )}
          <Button name={t('Leave it')} onClick={onClose} />
          <Button
            name={
              importing
                ? t('Line {n}…', { n: count(line ?? 0) })
                : good > 0
                  ? t('Import {n}', { n: plural(good, 'line') })
                  : t('Import')
            }
            kind={good > 0 ? 'primary' : 'plain'}
            disabled={busy || good === 0}
            onClick={act.store}
          />
          {/* The last one, where a second click in a hurry only looks again. */}
          <button type="submit" form="import" class={`button${good > 0 ? '' : ' primary'}`} disabled={busy}>
            {t('Preview')}
          </button>
        </>
      }
    >
      <form
        id="import"
        class="rows"
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void act.look();
        }}
        onInput={act.changed}
      >
        <FileField />
        <div class="form-row">
          <Field
            label={t('Newsletter')}
            name="newsletter"
            value={newsletter}
            options={['', ...newsletters]}
            hint={t('All subscribe to it')}
          />
          <Field
            label={t('All of them are')}
            name="as"
            options={['', ...FILE_STANDINGS]}
            hint={t('Where the file does not say it of each')}
          />
        </div>
        <div class="form-row">
          <Field
            label={t('Status')}
            name="status"
            options={['', ...MEMBER_STATUSES]}
            hint={t('Of lines that give none')}
          />
          <Field label={t('Labels')} name="labels" hint={t('That all of them get; separated by commas')} />
        </div>
        {preview !== undefined && <FoundMembers preview={preview} />}
        {problem !== undefined && <Problem problem={problem} />}
        <Shell
          label={t('For a file of any length, in the shell')}
          command={opsCommand(commandFor(tenant, { ...(newsletter && { newsletter }), ...options }), session)}
        />
      </form>
    </Dialog>
  );
}

const MOST_KB = Math.floor(MOST_FILE_BYTES / 1000);

/** A file that a request takes; a longer one is refused before it is sent. */
function FileField() {
  const id = useId();
  return (
    <div class="field rows tight">
      <label for={id}>{t('File')}</label>
      <input
        id={id}
        type="file"
        name="file"
        accept=".csv,.jsonl,.ndjson"
        required
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget: field }) => {
          const { size = 0 } = field.files?.[0] ?? {};
          field.setCustomValidity(
            size > MOST_FILE_BYTES ? t('At most {size} KB here: the command takes any length.', { size: MOST_KB }) : '',
          );
        }}
      />
      <p id={`${id}-hint`} class="faint">
        {t(
          'CSV or JSONL up to {size} KB, also as Ghost, listmonk, Mailchimp and others export it. It only adds: nobody’s subscription is taken, and who left stays so.',
          { size: MOST_KB },
        )}
      </p>
    </div>
  );
}
