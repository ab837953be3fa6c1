interface Client {
  readonly middlewareStack: { remove(name: string): boolean };
}

/**
 * Removes the SDK's log of calls from a client. The SDK builds each entry, a copy of the whole request and answer with
 * secrets replaced, before it finds that nobody listens (docs/decisions/0120).
 */
export function withoutLog<C extends Client>(client: C): C {
  client.middlewareStack.remove('loggerMiddleware');
  return client;
}
