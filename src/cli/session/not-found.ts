import { OperatorError } from '../../terminal/errors.ts';

export function notificationNotFound(log_id: string): OperatorError {
  return new OperatorError(`There is no notification ${log_id}: look for its log_id with \`npm run ops -- list\`.`);
}

export function keyNotFound(key_id: string): OperatorError {
  return new OperatorError(`There is no key ${key_id} that is not revoked: see \`npm run ops -- keys list\`.`);
}
