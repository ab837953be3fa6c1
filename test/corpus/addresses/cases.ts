/** A sender as people write it, and the name and the address that its readers see. */
interface SenderCase {
  readonly written: string;
  readonly name: string;
  /** In the header's form: its domain in ASCII. */
  readonly address: string;
}

export const SENDERS: readonly SenderCase[] = [
  { written: 'news@example.com', name: '', address: 'news@example.com' },
  { written: '<news@example.com>', name: '', address: 'news@example.com' },
  { written: 'Weekly News <news@example.com>', name: 'Weekly News', address: 'news@example.com' },
  { written: '週刊ニュース <news@example.com>', name: '週刊ニュース', address: 'news@example.com' },
  { written: '"週刊ニュース, 号外" <news@example.com>', name: '週刊ニュース, 号外', address: 'news@example.com' },
  { written: 'Doe, Jane <jane@example.com>', name: 'Doe, Jane', address: 'jane@example.com' },
  { written: '"Doe, Jane" <jane@example.com>', name: 'Doe, Jane', address: 'jane@example.com' },
  { written: 'Example.com (News) <news@example.com>', name: 'Example.com (News)', address: 'news@example.com' },
  { written: 'O\\Neil: @home; [x] <news@example.com>', name: 'O\\Neil: @home; [x]', address: 'news@example.com' },
  { written: 'Müller "Max" <m@example.com>', name: 'Müller "Max"', address: 'm@example.com' },
  { written: 'Max "The Ax" Miller <m@example.com>', name: 'Max "The Ax" Miller', address: 'm@example.com' },
  { written: '"Max \\"The Ax\\" <Miller>" <m@example.com>', name: 'Max "The Ax" <Miller>', address: 'm@example.com' },
  { written: '"Max" "Miller" <m@example.com>', name: '"Max" "Miller"', address: 'm@example.com' },
  { written: 'Grüße 🎉 <a@münchen.example>', name: 'Grüße 🎉', address: 'a@xn--mnchen-3ya.example' },
  { written: '=?UTF-8?B?6YCx5YiK?= <news@example.com>', name: '週刊', address: 'news@example.com' },
  { written: "O'Brien & Söhne GmbH <info@example.co.uk>", name: "O'Brien & Söhne GmbH", address: 'info@example.co.uk' },
  { written: 'Team, Ops; Infra <ops+alerts@example.com>', name: 'Team, Ops; Infra', address: 'ops+alerts@example.com' },
  { written: 'שלום חברים <a@example.com>', name: 'שלום חברים', address: 'a@example.com' },
  {
    written: `${'長い名前の会社'.repeat(6)} <a@example.com>`,
    name: '長い名前の会社'.repeat(6),
    address: 'a@example.com',
  },
];

/** What a recipient's field holds, and the mailbox in it; absent: none that SES can send to. */
interface AddressCase {
  readonly text: string;
  readonly mailbox?: string;
  readonly why: string;
}

export const ADDRESSES: readonly AddressCase[] = [
  { text: 'ann@example.com', mailbox: 'ann@example.com', why: 'RFC 5321, 4.1.2' },
  { text: '  ann@example.com\n', mailbox: 'ann@example.com', why: 'blanks of a cell' },
  { text: 'Ann.B+news_1@Example.COM', mailbox: 'Ann.B+news_1@example.com', why: 'the local part keeps its case' },
  { text: "o'brien@example.com", mailbox: "o'brien@example.com", why: "an atom's signs (RFC 5322, 3.2.3)" },
  { text: '{a}/b=c?d^e|f`g~h!#$%&*@example.com', mailbox: '{a}/b=c?d^e|f`g~h!#$%&*@example.com', why: 'all of them' },
  { text: 'ann@münchen.example', mailbox: 'ann@xn--mnchen-3ya.example', why: 'IDNA: SES takes ASCII' },
  { text: 'ann@例え.jp', mailbox: 'ann@xn--r8jz45g.jp', why: 'likewise' },
  { text: 'ann@例え。jp', mailbox: 'ann@xn--r8jz45g.jp', why: 'the full stop of Japanese (UTS 46)' },
  { text: 'ann@ｅｘａｍｐｌｅ.com', mailbox: 'ann@example.com', why: 'full-width letters (UTS 46)' },
  { text: 'ann@xn--mnchen-3ya.example', mailbox: 'ann@xn--mnchen-3ya.example', why: 'already in ASCII' },
  { text: 'ann@a.b.c.d.example.museum', mailbox: 'ann@a.b.c.d.example.museum', why: 'many labels' },
  { text: 'ann@1and1.example', mailbox: 'ann@1and1.example', why: 'a label may begin with a digit (RFC 1123, 2.1)' },
  { text: `${'a'.repeat(64)}@example.com`, mailbox: `${'a'.repeat(64)}@example.com`, why: 'RFC 5321, 4.5.3.1.1' },
  { text: `${'a'.repeat(65)}@example.com`, why: 'RFC 5321, 4.5.3.1.1' },
  { text: `ann@${'a'.repeat(64)}.example`, why: 'a label has at most 63 octets (RFC 1035, 2.3.4)' },
  { text: '', why: 'nothing' },
  { text: 'ann', why: 'no domain' },
  { text: '@example.com', why: 'no local part' },
  { text: 'ann@', why: 'no domain' },
  { text: 'ann@localhost', why: 'no host of the internet' },
  { text: 'ann@example', why: 'likewise' },
  { text: 'ann@@example.com', why: 'two signs' },
  { text: 'ann.@example.com', why: 'a dot at the end of the local part, as some carriers of Japan gave out' },
  { text: '.ann@example.com', why: 'a dot at its begin' },
  { text: 'an..n@example.com', why: 'two dots' },
  { text: 'an n@example.com', why: 'a blank' },
  { text: 'ann@exa mple.com', why: 'a blank' },
  { text: 'ann@example..com', why: 'an empty label' },
  { text: 'ann@.example.com', why: 'likewise' },
  { text: 'ann@-example.com', why: 'a hyphen at an edge (RFC 1123, 2.1)' },
  { text: 'ann@exam_ple.com', why: 'no letter of a host name' },
  { text: '"an n"@example.com', why: 'SES takes no quoted local part with blanks' },
  { text: 'müller@example.com', why: 'SES has no SMTPUTF8' },
  { text: 'ann@192.168.0.1', why: 'no domain' },
  { text: 'ann@[192.168.0.1]', why: 'an address literal' },
  { text: 'ann@example.com, ben@example.com', why: 'two' },
  { text: 'ann@example.com;ben@example.com', why: 'two' },
  { text: 'Ann <ann@example.com>', why: 'a name is no part of a recipient' },
  { text: '<ann@example.com>', why: 'nor are brackets' },
  { text: 'mailto:ann@example.com', why: 'a link' },
  { text: 'ann@example.com.', why: 'the end of a sentence' },
  { text: 'ann@example.com\r\nBcc: ben@example.com', why: 'a header' },
  { text: 'ann\u0000@example.com', why: 'a control character' },
];
