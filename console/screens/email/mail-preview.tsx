import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { MailPreview as Mail } from '../../../src/application/contract/newsletters.ts';
import { problemOf, read, write } from '../../data/api.ts';
import { newRequestId, useDecision } from '../../data/decision.ts';
import { SessionContext } from '../../data/session.ts';
import { said, t } from '../../language/language.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Ops } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { showProblem } from '../../parts/toasts.tsx';
import { inScheme } from './in-scheme.ts';

interface MailPreviewProps {
  /** With sample values. */
  readonly sample: Mail;
  /** The same as a member gets it. */
  readonly asMember: (member_id: string, request_id: string) => Promise<Mail>;
  /** What shows it in the shell. */
  readonly ops: string;
  readonly onClose: () => void;
}

/** A mail as its reader gets it: HTML beside text, on a desktop and a phone, light and dark, with a member's values. */
export function MailPreview({ sample, asMember, ops, onClose }: MailPreviewProps) {
  const [mail, setMail] = useState(sample);
  const [width, setWidth] = useState<Width>(innerWidth < 640 ? 'Phone' : 'Desktop');
  const [scheme, setScheme] = useState<Scheme>('Light');
  const { text, frame, notes, headers } = mail;
  return (
    <Dialog title={t('Preview')} wide onClose={onClose}>
      <dl class="mail-head">
        {['From', 'To', 'Reply-To', 'Subject'].map((name) =>
          headers[name] === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{headers[name]}</dd>
            </div>
          ),
        )}
      </dl>
      {notes.length > 0 && <p class="note tone-wait">{notes.map(said).join(' ')}</p>}
      <div class="mail-tools">
        <Reader onSample={() => setMail(sample)} onMember={async (...asked) => setMail(await asMember(...asked))} />
        <div class="line">
          <Switch label={t('Width')} options={WIDTHS} value={width} onChange={setWidth} />
          <Switch label={t('Colours')} options={SCHEMES} value={scheme} onChange={setScheme} />
        </div>
      </div>
      <div class="mail-parts">
        <section class="rows tight">
          <h3>HTML</h3>
          <MailFrame frame={frame} phone={width === 'Phone'} dark={scheme === 'Dark'} />
          <p class="faint">
            {t(
              'Pictures are not loaded here: their size and alternative text stand in their place. In the dark, some programs turn a mail’s colours themselves.',
            )}
          </p>
        </section>
        <section class="rows tight">
          <h3>{t('Text')}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls needs the focus for the keyboard. */}
          <pre class="mail-text" tabIndex={0}>
            {text}
          </pre>
        </section>
      </div>
      <Ops label={t('The same in the shell')} command={ops} />
    </Dialog>
  );
}

const WIDTHS = ['Desktop', 'Phone'] as const;
const SCHEMES = ['Light', 'Dark'] as const;
const NAMES: Readonly<Record<string, string>> = {
  Desktop: t('Desktop'),
  Phone: t('Phone'),
  Light: t('Light'),
  Dark: t('Dark'),
};
type Width = (typeof WIDTHS)[number];
type Scheme = (typeof SCHEMES)[number];

interface SwitchProps<T extends string> {
  readonly label: string;
  readonly options: readonly T[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

function Switch<T extends string>({ label, options, value, onChange }: SwitchProps<T>) {
  const name = useId();
  return (
    <fieldset class="switch">
      <legend class="visually-hidden">{label}</legend>
      {options.map((option) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
          {NAMES[option]}
        </label>
      ))}
    </fieldset>
  );
}

interface ReaderProps {
  readonly onSample: () => void;
  readonly onMember: (member_id: string, request_id: string) => Promise<void>;
}

/** Whose values it has: operators may see those of members. */
function Reader({ onSample, onMember }: ReaderProps) {
  const { role } = useContext(SessionContext);
  const { busy, problem, decide } = useDecision(async (_, member_id: string) => {
    if (member_id === '') onSample();
    else await onMember(member_id, newRequestId());
  });
  if (role === 'viewer') return null;
  return (
    <form
      class="rows tight"
      onSubmit={(event) => {
        event.preventDefault();
        const member_id = String(new FormData(event.currentTarget).get('member') ?? '').trim();
        void decide(member_id);
      }}
    >
      <div class="form-row with-button">
        <Field
          label={t('As this member')}
          name="member"
          hint={t('A member_id; the audit log keeps it. Empty: sample values')}
        />
        <button type="submit" class="button" disabled={busy}>
          {t('Show')}
        </button>
      </div>
      {problem !== undefined && <Problem problem={problem} />}
    </form>
  );
}

/** Opens the preview of an e-mail that is stored, whatever became of it. */
export function PreviewEmail({ email_id }: { readonly email_id: string }) {
  const [sample, setSample] = useState<Mail>();
  const failed = (error: unknown) => showProblem(problemOf(error));
  const open = () => void read('GET /api/emails/{email_id}/preview', { email_id }, {}).then(setSample, failed);
  return (
    <>
      <Button name={t('Preview')} icon="eye" onClick={open} />
      {sample !== undefined && (
        <MailPreview
          sample={sample}
          asMember={(member_id, request_id) =>
            write('POST /api/emails/{email_id}/preview', { email_id }, { request_id, member_id })
          }
          ops={`emails preview ${email_id} --open`}
          onClose={() => setSample(undefined)}
        />
      )}
    </>
  );
}

interface MailFrameProps {
  readonly frame: Mail['frame'];
  readonly phone: boolean;
  readonly dark: boolean;
}

/**
 * A mail in a frame of its own, which runs no script. The page's policy holds in it, too: nothing is fetched, and styles
 * are set from here, as it takes none in the markup. Its width and its scheme are those of a reader, not of this page.
 */
function MailFrame({ frame: { html, styles }, phone, dark }: MailFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const dress = () => {
    const { contentDocument: page, contentWindow } = frame.current ?? {};
    const view = contentWindow as (Window & typeof globalThis) | null | undefined;
    if (!page || !view) return;
    for (const element of page.querySelectorAll<HTMLElement>('[data-style]')) {
      element.style.cssText = element.dataset['style'] ?? '';
    }
    page.adoptedStyleSheets = styles.map((style) => {
      const sheet = new view.CSSStyleSheet();
      sheet.replaceSync(inScheme(style, dark));
      return sheet;
    });
  };
  useEffect(dress, [styles, dark]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: What scrolls sideways needs the focus for the keyboard.
    <section class="mail-window" tabIndex={0} aria-label={t('HTML of the mail')}>
      <iframe
        ref={frame}
        class={phone ? 'is-phone' : undefined}
        title={t('The mail')}
        sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
        srcdoc={html}
        onLoad={dress}
      />
    </section>
  );
}
