import Handlebars from 'handlebars';
import { render } from '../../../src/adapters/post/post-renderer.ts';
import { entryData, templateOf } from '../../../src/adapters/ses-v2/bulk-provider.ts';
import type { EmailContent } from '../../../src/core/newsletter/model/email.ts';
import { MEMBER } from '../../corpus/merge-fields/posts.ts';

/** What arrives at the corpus's member: the template that SES gets, filled in as SES does. */
export async function arriving(content: EmailContent) {
  const rendering = await render(content, 0);
  const data = JSON.parse(entryData({ values: MEMBER }, rendering));
  const { Subject, Html, Text } = templateOf(rendering);
  const [subject = '', html = '', text = ''] = [Subject, Html, Text].map((template) =>
    Handlebars.compile(template, { noEscape: true, strict: true })(data),
  );
  return { subject, html, text };
}
