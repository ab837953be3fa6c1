const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The text as HTML that shows it, inside an element or a quoted attribute. Apart from what parses HTML, which is large. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** The box of a task: mail programs leave out the inputs of forms, and chats have none. */
export const box = (checked: boolean | undefined): string => (checked === true ? '☑ ' : '☐ ');
