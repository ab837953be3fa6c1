import * as v from 'valibot';
import { OPERATION_ACTIONS, OPERATION_KINDS, OPERATION_STATUSES, operationFilter } from '../contract/operations.ts';
import { count, counts, nextPage, notificationView, time } from './parts.ts';

const pass = v.strictObject({ matched: count, taken: count, left_to_sweep: count, excluded: counts });

export const operationView = v.strictObject({
  operation_id: v.string(),
  kind: v.picklist(OPERATION_KINDS),
  status: v.picklist(OPERATION_STATUSES),
  wanted: v.nullable(v.picklist(['pause', 'cancel'])),
  filter: operationFilter,
  rate: count,
  limit: v.nullable(count),
  cut_off: time,
  created_by: v.string(),
  created_at: time,
  started_at: v.nullable(time),
  ended_at: v.nullable(time),
  preview: v.nullable(pass),
  sample: v.array(notificationView),
  sample_log_ids: v.array(v.string()),
  progress: pass,
  rate_now: v.nullable(count),
  eta: v.nullable(time),
  error: v.nullable(v.string()),
  actions: v.array(v.picklist(OPERATION_ACTIONS)),
  command: v.nullable(v.string()),
});

export const operationList = v.strictObject({ operations: v.array(operationView), ...nextPage });
