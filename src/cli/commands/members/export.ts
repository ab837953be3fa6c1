import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { CSV_HEADER, csvLine } from '../../../adapters/member-files/own-format.ts';
import { exportedMembers, memberAccess } from '../../../application/members/members.ts';
import { decisionOf } from '../../../core/operator/audit.ts';
import { createPrivateFile } from '../../../processes/private-file.ts';
import { required, value } from '../../../terminal/command.ts';
import { OperatorError, unwritableFile } from '../../../terminal/errors.ts';
import { parseId } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { onDeployment, type Session } from '../../session/session.ts';
import { formatOf } from './file-format.ts';

export const addMembersExport = onDeployment({
  name: 'export',
  says: 'write all members to a file, with what they unsubscribed from and why they are suppressed',
  args: { '<FILE>': 'the file to write: .csv or .jsonl' },
  options: {
    '--tenant <ID>': required(value('the tenant whose members it gets', parseId)),
    '--newsletter <ID>': value('only members who subscribe, or have unsubscribed', parseId),
  },
  help: `
\`members import FILE\` takes the file back, here or elsewhere. Addresses that are suppressed or unsubscribed and have no
member any more are counted only: nothing but their hash is stored.

Example:
  npm run ops -- members export members.csv --tenant TENANT001`,
  async run(session, { tenant, newsletter }, [file = '']) {
    const isCsv = formatOf(file) === 'csv';
    const answer = await session.decide(
      decisionOf({ what: 'member.export', on: [tenant], details: { tenant } }, async () => {
        const exported = await writeMembers(session, { file, isCsv, tenant, newsletter });
        return { answer: exported, result: exported };
      }),
    );
    printResult(session, answer, () => {
      const { members, unsubscribed, suppressed, without_member, unreadable = 0 } = answer;
      const lost = unreadable > 0 ? ` ${unreadable} members whose addresses nobody can read are left out.` : '';
      const others = without_member > 0 ? ` ${without_member} addresses without a member are left out.` : '';
      return `${members} members are in ${file}: ${unsubscribed} have unsubscribed, ${suppressed} are suppressed.${others}${lost}\n`;
    });
  },
});

interface Export {
  readonly file: string;
  readonly isCsv: boolean;
  readonly tenant: string;
  readonly newsletter: string | undefined;
}

function created(partial: string, file: string): number {
  try {
    return createPrivateFile(partial);
  } catch (error) {
    throw new OperatorError(unwritableFile(file, error));
  }
}

/** Writes beside the file first, so that an interrupted export leaves no file that looks whole. */
async function writeMembers(session: Session, { file, isCsv, tenant, newsletter }: Export) {
  const partial = `${file}.partial`;
  // It has addresses in it: nobody else may read it.
  const output = createWriteStream(partial, { fd: created(partial, file) });
  const progress = showProgress(session);
  const failed = new Promise<never>((_, reject) => output.once('error', reject));
  failed.catch(() => undefined);
  const write = (text: string) =>
    Promise.race([failed, new Promise<void>((done) => void output.write(text, () => done()))]);
  /** `without_member`: facts of addresses that belong to nobody. */
  const sums = { members: 0, unsubscribed: 0, suppressed: 0, without_member: 0 };
  let unreadable = 0;
  try {
    if (isCsv) await write(CSV_HEADER);
    for await (const page of exportedMembers(tenant, newsletter, memberAccess(session))) {
      sums.without_member += page.without_member;
      unreadable += page.unreadable;
      for (const { unsubscribed, suppressed } of page.members) {
        sums.members += 1;
        if (unsubscribed !== undefined) sums.unsubscribed += 1;
        if (suppressed !== undefined) sums.suppressed += 1;
      }
      await write(page.members.map((one) => (isCsv ? csvLine(one) : `${JSON.stringify(one)}\n`)).join(''));
      progress.update({ verb: 'members exported', done: sums.members });
    }
    await Promise.race([failed, new Promise<void>((done) => output.end(done))]);
    await rename(partial, file);
    return { ...sums, ...(unreadable > 0 && { unreadable }) };
  } catch (error) {
    output.destroy();
    await rm(partial, { force: true });
    if (!(error instanceof Error) || !('syscall' in error)) throw error;
    throw new OperatorError(unwritableFile(file, error));
  } finally {
    progress.end();
  }
}
