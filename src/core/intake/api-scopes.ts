/** What an API key may do: hand over notifications, read them, retry them; see newsletters with their members, change them. */
export const SCOPES = ['send', 'read', 'operate', 'newsletters:read', 'newsletters:write'] as const;
export type Scope = (typeof SCOPES)[number];
