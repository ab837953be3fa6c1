import { useContext, useRef, useState } from 'preact/hooks';
import type { KeyView } from '../../../src/operator-service/contract/keys.ts';
import type { ProblemBody } from '../../../src/operator-service/contract/page.ts';
import { newRequestId, problemOf, write } from '../../data/api.ts';
import { opsCommand, SessionContext } from '../../data/session.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Shell } from '../../parts/shell-command.tsx';
import { Problem } from '../../parts/states.tsx';
import { showToast } from '../../parts/toasts.tsx';

/** `apiKey`, because `key` is Preact's own word. */
export function RevokeKey({
  apiKey: { key_id, tenant_id },
  onClose,
}: {
  readonly apiKey: KeyView;
  readonly onClose: () => void;
}) {
  const session = useContext(SessionContext);
  const request_id = useRef(newRequestId());
  const [problem, setProblem] = useState<ProblemBody>();
  const revoke = async () => {
    try {
      await write('POST /api/keys/{key_id}/revoke', { key_id }, { request_id: request_id.current });
      showToast('done', `${key_id} is revoked.`);
      onClose();
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <Dialog
      title="Revoke the key?"
      onClose={onClose}
      actions={
        <>
          <button type="button" class="button" onClick={onClose}>
            Keep it
          </button>
          <button type="button" class="button danger" onClick={revoke}>
            Revoke key
          </button>
        </>
      }
    >
      <p>
        Requests of {tenant_id} with <code>{key_id}</code> are refused from then on, within a minute everywhere. This
        cannot be taken back.
      </p>
      <Shell label="The same in the shell" command={opsCommand(`keys revoke ${key_id}`, session)} />
      {problem !== undefined && <Problem problem={problem} />}
    </Dialog>
  );
}
