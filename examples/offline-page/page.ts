import {
  createOfflineQueue,
  defineNotificationState,
  type QueueEntry,
  type TokenRequest,
} from '../../src/client/browser/index.ts';

const url = document.querySelector<HTMLMetaElement>('meta[name="api-url"]')?.content ?? '';

/** The API key stays on the server: the page gets tokens, which end soon and do little. */
async function getToken(request: TokenRequest): Promise<string> {
  const answer = await fetch('/token', { method: 'POST', body: JSON.stringify(request) });
  if (!answer.ok) throw new Error(`The server gave no token: ${answer.status}`);
  return (await answer.json()).token;
}

defineNotificationState({ url, getToken });
const queue = await createOfflineQueue({ url, getToken });

const list = document.querySelector<HTMLUListElement>('#messages') ?? document.createElement('ul');
const items = new Map<number, HTMLLIElement>();

function show(entry: QueueEntry): void {
  const item = items.get(entry.id) ?? newItem(entry);
  const state = item.querySelector('notification-state');
  if (entry.log_id !== undefined) state?.setAttribute('log-id', entry.log_id);
  state?.setAttribute('state', entry.state === 'failed' ? 'failed' : entry.attempts > 0 ? 'retrying' : 'saving');
  state?.toggleAttribute('can-retry', entry.state === 'failed');
}

function newItem({ id, label = '' }: QueueEntry): HTMLLIElement {
  const item = document.createElement('li');
  const text = document.createElement('div');
  text.textContent = label;
  const state = document.createElement('notification-state');
  state.addEventListener('notification-retry', () => {
    if (!state.hasAttribute('log-id')) void queue.retry(id);
  });
  item.append(text, state);
  list.prepend(item);
  items.set(id, item);
  return item;
}

queue.subscribe(({ type, entry }) => {
  if (type !== 'removed') return show(entry);
  items.get(entry.id)?.remove();
  items.delete(entry.id);
});
for (const entry of await queue.entries()) show(entry);

const form = document.querySelector<HTMLFormElement>('#new');
form?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const given = new FormData(form);
  const [recipient, body] = [String(given.get('recipient')), String(given.get('text'))];
  await queue.add({ channel: recipient.startsWith('http') ? 'webhook' : 'email', recipient, body }, body);
  form.reset();
});

const network = document.querySelector<HTMLParagraphElement>('#network');
function showNetwork(): void {
  if (network) network.textContent = navigator.onLine ? '' : 'No network. What you send now goes out when it is back.';
}
addEventListener('online', showNetwork);
addEventListener('offline', showNetwork);
showNetwork();
// For tests and for screen readers: the page is ready when its list is complete.
document.querySelector('main')?.setAttribute('aria-busy', 'false');
