import { isObject, type Json, type JsonObject, listAt, textAt } from '../../support/json.ts';

/** Values of a template's references on this machine. */
export interface References {
  /** Value of `Ref: id`; undefined when nothing has that name. */
  ref(id: string): string | undefined;
  /** Value of `Fn::GetAtt: [id, attribute]`; undefined when nothing has that name. */
  getAtt(id: string, attribute: string): string | undefined;
}

/**
 * Replaces every CloudFormation intrinsic function in `value` with its result.
 * @throws Error that names the place in the template and the function or reference that cannot be resolved
 */
export function resolve(value: Json, references: References, at: string): Json {
  if (Array.isArray(value)) return value.map((item: Json, index) => resolve(item, references, `${at}[${index}]`));
  if (!isObject(value)) return value;
  const [key, ...others] = Object.keys(value);
  if (key !== undefined && others.length === 0 && (key === 'Ref' || key.startsWith('Fn::'))) {
    return intrinsic(key, value[key] ?? null, references, at);
  }
  const resolved: Record<string, Json> = {};
  for (const [name, item] of Object.entries(value)) {
    if (item !== undefined) resolved[name] = resolve(item, references, `${at}.${name}`);
  }
  return resolved;
}

function intrinsic(name: string, argument: Json, references: References, at: string): Json {
  switch (name) {
    case 'Ref':
      return reference(textAt(argument, `Ref at ${at}`), references, at);
    case 'Fn::GetAtt':
      return attribute(argument, references, at);
    case 'Fn::Join': {
      const [separator, parts] = resolvedList(argument, references, at);
      return listAt(parts, `Fn::Join at ${at}`).join(textAt(separator, `separator of Fn::Join at ${at}`));
    }
    case 'Fn::Select': {
      const [index, items] = resolvedList(argument, references, at);
      const item = listAt(items, `Fn::Select at ${at}`)[Number(index)];
      if (item === undefined) throw new Error(`Fn::Select at ${at} asks for item ${String(index)}, which is not there`);
      return item;
    }
    case 'Fn::Split': {
      const [separator, text] = resolvedList(argument, references, at);
      return textAt(text, `Fn::Split at ${at}`).split(textAt(separator, `separator of Fn::Split at ${at}`));
    }
    case 'Fn::Sub':
      return substitute(argument, references, at);
    default:
      throw new Error(
        `${at} uses ${name}, which the local runtime does not know. ` +
          'It resolves Ref, Fn::GetAtt, Fn::Join, Fn::Select, Fn::Split and Fn::Sub.',
      );
  }
}

function resolvedList(argument: Json, references: References, at: string): readonly Json[] {
  return listAt(resolve(argument, references, at), at);
}

function reference(id: string, references: References, at: string): string {
  const value = references.ref(id);
  if (value === undefined)
    throw new Error(`${at} refers to ${id}, which is neither a resource nor a parameter with a default`);
  return value;
}

function attribute(argument: Json, references: References, at: string): string {
  const path = typeof argument === 'string' ? argument.split(/\.(.*)/s, 2) : listAt(argument, `Fn::GetAtt at ${at}`);
  const id = textAt(path[0], `Fn::GetAtt at ${at}`);
  const name = textAt(path[1], `Fn::GetAtt at ${at}`);
  const value = references.getAtt(id, name);
  if (value === undefined) throw new Error(`${at} refers to ${id}.${name}, but there is no resource ${id}`);
  return value;
}

function substitute(argument: Json, references: References, at: string): string {
  const [text, variables] = typeof argument === 'string' ? [argument, {}] : listAt(argument, `Fn::Sub at ${at}`);
  const local: JsonObject = isObject(variables) ? variables : {};
  return textAt(text, `Fn::Sub at ${at}`).replaceAll(/\$\{(!?)([^}]+)\}/g, (_, literal: string, name: string) => {
    if (literal !== '') return `\${${name}}`;
    const own = local[name];
    if (own !== undefined) return String(resolve(own, references, at));
    return name.includes('.') ? attribute(name, references, at) : reference(name, references, at);
  });
}
