import { priceAtRest } from '../bench/scale/price-at-rest.ts';
import { UNIT_PRICES as PRICE } from '../bench/scale/unit-prices.ts';
import { smokeStage } from './stack.ts';

const HOURS_PER_MONTH = 730;

/** More than a run uses, deployments included. */
const USED = {
  write_unit: 5_000,
  read_unit: 50_000,
  sqs_request: 50_000,
  kms_request: 10_000,
  lambda_request: 10_000,
  lambda_gigabyte_second: 2_000,
  log_gigabyte: 0.05,
  mail: 50,
  sign_in_user: 1,
} as const satisfies Partial<Record<keyof typeof PRICE, number>>;

interface Line {
  readonly what: string;
  readonly count: number;
  readonly usd: number;
}

export interface Bill {
  readonly lines: readonly Line[];
  readonly usd: number;
}

/** What a run costs at most, in US dollars, by the hours that its stack exists: list prices of us-east-1. */
export function billOf(hours: number): Bill {
  // Neither value changes what is there.
  const stage = smokeStage('noreply@your-domain.example', '123456789012');
  const lines: Line[] = priceAtRest(stage).map(({ en, count, dollars }) => {
    return { what: en, count, usd: (dollars * hours) / HOURS_PER_MONTH };
  });
  const used = Object.entries(USED).reduce((sum, [name, count]) => sum + count * PRICE[name as keyof typeof USED], 0);
  lines.push({ what: 'requests, run time, logs, mails and a sign-in', count: 1, usd: used });
  return { lines, usd: lines.reduce((sum, { usd }) => sum + usd, 0) };
}
