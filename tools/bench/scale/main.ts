import { millionTables } from './a-million.ts';
import { pricesTable } from './price-at-rest.ts';
import { settingsTable } from './settings.ts';

process.stdout.write(
  `${settingsTable()}\n${pricesTable('en')}\n${pricesTable('ja')}\n${millionTables('en')}\n${millionTables('ja')}`,
);
