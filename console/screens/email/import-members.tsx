import { useContext, useId, useRef, useState } from 'preact/hooks';
import { MOST_FILE_BYTES, quoted } from '../../../src/application/contract/choices.ts';
import type { ImportedMembers } from '../../../src/application/contract/newsletters.ts';
import { FILE_STANDINGS, MEMBER_STATUSES } from '../../../src/core/newsletter/model/member.ts';
import { write } from '../../data/api.ts';
import { newRequestId, useDecision } from '../../data/decision.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { Button, Why } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { count } from '../../parts/time.tsx';
import { showToast } from '../../parts/toasts.tsx';
import { plural } from '../../parts/words.ts';

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
      showToast('done', `${plural(created, 'member is', 'members are')} new, ${count(changed)} were known.`);
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
      title="Import members"
      stays
      onClose={onClose}
      actions={
        <>
          {!busy && good === 0 && (
            <Why>{preview === undefined ? 'Preview the file first.' : 'No line of it can be imported.'}</Why>
          )}
          <Button name="Leave it" onClick={onClose} />
          <Button
            name={importing ? `Line ${count(line ?? 0)}…` : good > 0 ? `Import ${plural(good, 'line')}` : 'Import'}
            kind={good > 0 ? 'primary' : 'plain'}
            disabled={busy || good === 0}
            onClick={act.store}
          />
          {/* The last one, where a second click in a hurry only looks again. */}
          <button type="submit" form="import" class={`button${good > 0 ? '' : ' primary'}`} disabled={busy}>
            Preview
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
            label="Newsletter"
            name="newsletter"
            value={newsletter}
            options={['', ...newsletters]}
            hint="All subscribe to it"
          />
          <Field
            label="All of them are"
            name="as"
            options={['', ...FILE_STANDINGS]}
            hint="Where the file does not say it of each"
          />
        </div>
        <div class="form-row">
          <Field label="Status" name="status" options={['', ...MEMBER_STATUSES]} hint="Of lines that give none" />
          <Field label="Labels" name="labels" hint="That all of them get; separated by commas" />
        </div>
        {preview !== undefined && <Found preview={preview} />}
        {problem !== undefined && <Problem problem={problem} />}
        <Shell
          label="For a file of any length, in the shell"
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
      <label for={id}>File</label>
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
            size > MOST_FILE_BYTES ? `At most ${MOST_KB} KB here: the command takes any length.` : '',
          );
        }}
      />
      <p id={`${id}-hint`} class="faint">
        CSV or JSONL up to {MOST_KB} KB, also as Ghost, listmonk, Mailchimp and others export it. It only adds: nobody’s
        subscription is taken, and who left stays so.
      </p>
    </div>
  );
}

/** As the form calls the command's options. */
const inWords = (message: string): string =>
  message
    .replaceAll('--newsletter', '“Newsletter”')
    .replaceAll('--as ', '“All of them are” ')
    .replaceAll('--as', '“All of them are”');

/** What an import would do, and which lines it would leave. */
function Found({ preview }: { readonly preview: ImportedMembers }) {
  const { created, changed, bad, skipped, unsubscribed, suppressed, faults } = preview;
  return (
    <div class="rows" role="status">
      <dl class="preview-figures">
        <div class="is-main">
          <dt>New</dt>
          <dd>{count(created)}</dd>
        </div>
        <div>
          <dt>Known</dt>
          <dd>{count(changed)}</dd>
        </div>
        <div>
          <dt>Bad lines</dt>
          <dd>{count(bad)}</dd>
        </div>
      </dl>
      <ul class="reasons">
        {unsubscribed > 0 && <li>{plural(unsubscribed, 'line says', 'lines say')} that somebody has unsubscribed.</li>}
        {suppressed > 0 && <li>{plural(suppressed, 'line suppresses', 'lines suppress')} an address.</li>}
        {skipped > 0 && <li>{plural(skipped, 'line is', 'lines are')} left out: deleted or not confirmed there.</li>}
        {faults.map(({ line, column, message }, i) => (
          <li key={i}>
            <strong>Line {line}</strong>: {column === '' ? 'it' : <code>{column}</code>} {inWords(message)}.
          </li>
        ))}
        {bad > faults.length && <li>The command names all of them (--rejects).</li>}
      </ul>
    </div>
  );
}
