/**
 * Checks the promises to members and to sending domains (docs/newsletters.md) by what the receivers got, and by what was
 * answered to those who changed members. It shares no code with the job.
 */
const DAY = 86_400_000;
const SHOWN = 10;

interface Person {
  readonly address: string;
  readonly newsletters: readonly string[];
}

export class MembersAuditor {
  readonly violations: string[] = [];
  /** Mails by mailing and address, and by day of the warmed domain. */
  readonly mails = new Map<string, number>();
  readonly #daily = new Map<number, number>();
  readonly #people = new Map<string, Person>();
  readonly #unsubscribed = new Map<string, number>();
  /** Since when nobody of an address gets the newsletter, as it was answered. */
  readonly #goneAt = new Map<string, number>();
  /** When the facts of an address were looked for last for a mailing. */
  readonly #checkedAt = new Map<string, number>();
  readonly #domain: string;

  constructor(domain: string) {
    this.#domain = domain;
  }

  /** Who is about to be stored may be there from now on. */
  coming(tenant: string, address: string): void {
    this.#goneAt.delete(`${tenant} ${address}`);
  }

  /** It was answered that a member is so; absent: it is gone. */
  is(tenant: string, member: string, person: Person | undefined, now: number): void {
    const before = this.#people.get(`${tenant} ${member}`);
    if (person === undefined) this.#people.delete(`${tenant} ${member}`);
    else this.#people.set(`${tenant} ${member}`, person);
    for (const { address } of [before, person].filter((one) => one !== undefined)) this.#look(tenant, address, now);
  }

  unsubscribed(tenant: string, address: string, newsletter: string, now: number): void {
    const key = `${tenant} ${address} ${newsletter}`;
    if (!this.#unsubscribed.has(key)) this.#unsubscribed.set(key, now);
    this.#look(tenant, address, now);
  }

  /** Since when the address gets no mail of a newsletter, by its own decision. */
  unsubscribedAt(tenant: string, address: string, newsletter: string): number | undefined {
    return this.#unsubscribed.get(`${tenant} ${address} ${newsletter}`);
  }

  #look(tenant: string, address: string, now: number): void {
    const key = `${tenant} ${address}`;
    const gets = [...this.#people].some(
      ([id, one]) => id.startsWith(`${tenant} `) && one.address === address && one.newsletters.includes('news'),
    );
    if (gets && !this.#unsubscribed.has(`${key} news`)) this.#goneAt.delete(key);
    else if (!this.#goneAt.has(key)) this.#goneAt.set(key, now);
  }

  checked(email: string, addresses: readonly string[], now: number): void {
    for (const address of addresses) this.#checkedAt.set(`${email} ${address}`, now);
  }

  accepted(email: string, tenant: string, address: string, from: string, now: number): void {
    const mail = `${email} ${address}`;
    this.mails.set(mail, (this.mails.get(mail) ?? 0) + 1);
    if ((this.mails.get(mail) ?? 0) > 1) this.#violated(`${address} got ${email} twice`);
    const gone = this.#goneAt.get(`${tenant} ${address}`);
    const checked = this.#checkedAt.get(mail);
    if (checked === undefined) this.#violated(`${address} was mailed, and nobody had looked for its facts`);
    else if (gone !== undefined && gone < checked) this.#violated(`${address} of ${tenant} was mailed, who was gone`);
    if (!from.includes(`@${this.#domain}`)) return;
    const day = Math.floor(now / DAY);
    this.#daily.set(day, (this.#daily.get(day) ?? 0) + 1);
  }

  /** @param curve mails of a day, by the days that it has grown: by those since the last mails, a week at most */
  checkDays(curve: readonly number[]): number {
    let step = 0;
    let before: number | undefined;
    for (const [day, mails] of [...this.#daily].sort(([a], [b]) => a - b)) {
      if (before !== undefined) step += Math.min(day - before, 7);
      before = day;
      const allowed = curve[Math.min(step, curve.length - 1)] ?? 0;
      if (mails > allowed) this.#violated(`the domain sent ${mails} on a day that allows ${allowed}`);
    }
    return this.#daily.size;
  }

  violated(what: string): void {
    this.#violated(what);
  }

  #violated(what: string): void {
    if (this.violations.length < SHOWN) this.violations.push(what);
  }
}
