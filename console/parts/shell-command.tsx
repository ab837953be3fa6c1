import { useState } from 'preact/hooks';
import type { ShellCommand } from '../../src/operator-service/contract/fields.ts';
import { Icon } from './icon.tsx';

/** A line for the shell with a button that copies it. */
export function Shell({ label, command }: ShellCommand) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(command);
    setCopied(true);
    setTimeout(setCopied, 2_000, false);
  };
  return (
    <div class="shell">
      {label !== '' && <span class="shell-label">{label}</span>}
      <div class="shell-line">
        <code>{command}</code>
        <button
          type="button"
          class="icon-button"
          aria-label={copied ? 'Copied' : `Copy: ${label || command}`}
          onClick={copy}
        >
          <Icon name={copied ? 'check' : 'copy'} />
        </button>
      </div>
    </div>
  );
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
      <summary>In the shell</summary>
      {commands.map((command) => (
        <Shell key={command.label + command.command} {...command} />
      ))}
    </details>
  );
}
