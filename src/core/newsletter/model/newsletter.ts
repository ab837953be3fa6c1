/** A publication with a sender, and members who subscribe to it. Key: tenant_id + newsletter_id. */
export interface Newsletter {
  readonly tenant_id: string;
  /** 1 to 50 of A-Z, a-z, 0-9, _ and -, chosen by the tenant. */
  readonly newsletter_id: string;
  readonly name: string;
  /** The From address, `Name <local@domain>` or plain. SES must have verified it or its domain. */
  readonly from: string;
  readonly reply_to?: string;
  /** Domain that replaces the one of `from` while warming allows it; absent: the domain of `from`. */
  readonly sending_domain?: string;
  /** Domain for the recipients beyond the warming allowance of the sending domain; absent: there is no warming. */
  readonly fallback_domain?: string;
  /** ISO-8601 UTC with milliseconds, like all times. */
  readonly created_at: string;
  readonly updated_at: string;
}
