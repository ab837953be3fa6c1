const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The text as HTML that shows it, in an element or a quoted attribute. This file loads no parser of HTML: those are large. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** The box of a task: mail programs leave out the inputs of forms, and chats have none. */
export const box = (checked: boolean | undefined): string => (checked === true ? '☑ ' : '☐ ');
