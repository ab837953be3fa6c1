import { useContext, useState } from 'preact/hooks';
import type { OperationView } from '../../src/operator-service/contract/operations.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { ScreenFrame } from '../parts/screen.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { NewOperation } from './operations/new-operation.tsx';
import { Operation } from './operations/operation.tsx';

/** Bulk operations, newest first: what runs, how far it is, and what became of it. */
export function OperationsScreen() {
  const session = useContext(SessionContext);
  const [asked, setAsked] = useState(false);
  const list = useList({
    route: 'GET /api/operations',
    query: { limit: '20' },
    rowsOf: (page) => page.operations,
    keyOf: (operation: OperationView) => operation.operation_id,
  });
  return (
    <ScreenFrame
      title="Operations"
      lead="What was done with many notifications at once. An operation takes what its preview counted, and nothing that came later."
      actions={
        session.role === 'operator' && (
          <button type="button" class="button primary" onClick={() => setAsked(true)}>
            New operation
          </button>
        )
      }
    >
      {list.problem !== undefined && <Problem problem={list.problem} onRetry={list.refresh} />}
      {!list.loaded && list.problem === undefined && <Loading what="operations" />}
      {list.loaded && list.rows.length === 0 && (
        <Empty icon="operations" title="No operations yet">
          <p>Redrive a group of dead letters, or act on all notifications that match a filter.</p>
        </Empty>
      )}
      <div class="groups">
        {list.rows.map((operation) => (
          <Operation key={operation.operation_id} operation={operation} onChanged={list.refresh} />
        ))}
      </div>
      {list.more && (
        <button type="button" class="button" onClick={list.loadMore}>
          Show earlier ones
        </button>
      )}
      <ShellCommands
        commands={[
          {
            label: 'A redrive by filter in the shell',
            command: opsCommand('replay --channel slack --dry-run', session),
          },
        ]}
      />
      {asked && (
        <NewOperation
          filter={{}}
          onClose={() => {
            setAsked(false);
            list.refresh();
          }}
        />
      )}
    </ScreenFrame>
  );
}
