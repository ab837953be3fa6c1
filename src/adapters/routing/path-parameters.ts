/**
 * What a path has in place of the parameters of a pattern such as `/v1/emails/{email_id}`, escaped as it came. A
 * parameter is one segment that is not empty. Undefined when the path has another form.
 */
export function pathParameters(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const found: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const segment = given[i] ?? '';
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined ? part !== segment : segment === '') return undefined;
    if (name !== undefined) found[name] = segment;
  }
  return found;
}

/** Compares matches of one path: fewer parameters come first, so a literal segment goes before a parameter. */
export function byFewerParameters(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): number {
  return Object.keys(a).length - Object.keys(b).length;
}
