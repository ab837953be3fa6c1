import { useContext, useState } from 'preact/hooks';
import type { ShellCommand } from '../../src/application/contract/fields.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { said, t } from '../language/language.ts';
import { Button } from './button.tsx';

/** A line for the shell with a button that copies it. */
export function Shell({ label, command }: ShellCommand) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(command);
    setCopied(true);
    setTimeout(setCopied, 2_000, false);
  };
  return (
    <div class="shell rows tight">
      {label !== '' && <span class="faint small">{label}</span>}
      <div class="shell-line">
        <code>{command}</code>
        <Button
          name={copied ? t('Copied') : t('Copy: {command}', { command: label || command })}
          icon={copied ? 'check' : 'copy'}
          bare
          onClick={copy}
        />
      </div>
    </div>
  );
}

/** A command of `ops`, with what this console's session needs. */
export function Ops({ label = t('In the shell'), command }: { readonly label?: string; readonly command: string }) {
  return <Shell label={label} command={opsCommand(command, useContext(SessionContext))} />;
}

interface OpsCommandsProps {
  /** Commands of `ops`, by what they do. */
  readonly of: Readonly<Record<string, string>>;
  readonly open?: boolean;
}

/** The same as the screen shows, in the shell, with what this console's session needs. */
export function OpsCommands({ of, open = false }: OpsCommandsProps) {
  const session = useContext(SessionContext);
  const commands = Object.entries(of).map(([label, command]) => ({ label, command: opsCommand(command, session) }));
  return <ShellCommands open={open} commands={commands} />;
}

interface ShellCommandsProps {
  readonly commands: readonly ShellCommand[];
  /** The commands are what a person does next, so they are shown at once. */
  readonly open?: boolean;
}

export function ShellCommands({ commands, open = false }: ShellCommandsProps) {
  if (commands.length === 0) return null;
  return (
    <details class="shell-commands" open={open}>
      <summary>{t('In the shell')}</summary>
      {commands.map((command) => (
        <Shell key={command.label + command.command} label={said(command.label)} command={command.command} />
      ))}
    </details>
  );
}
