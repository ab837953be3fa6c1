import { JAPANESE_REMEDIES } from './japanese-remedies.ts';
import { type Language, type Sentences, translator } from './sentences.ts';

/** The lines of what the monitor tells operators (src/core/monitor); what is within another stands below it. */
const JAPANESE_NOTICES: Sentences = {
  '{notice} More of this time are in the next notice.': '{notice}この期間の残りは、次のお知らせで伝えます。',
  '{notifications} given up from {from} to {until}, and waiting for an operator.':
    '{from} から {until} までに{notifications}を断念しました。運用者の判断を待っています。',
  '{notifications} given up before {until}, and waiting for an operator.':
    '{until} までに{notifications}を断念しました。運用者の判断を待っています。',
  '{priority}: {n} ({tenants}, {more} more tenants)': '{priority}: {n}（{tenants}、ほか {more} テナント）',
  'about {n} × {cause}': '約 {n} 件: {cause}',
  '{n} × {cause}': '{n} 件: {cause}',
  '{n} more causes, of {notifications}: {command}': 'ほか {n} 種類の原因、{notifications}: {command}',
  '{channel}, integration {integration}: {reason}': '{channel}、連携設定 {integration}: {reason}',
  '{reason}, at last {type}': '{reason}、最後は {type}',
  'malformed row: {faults}': '不正な行: {faults}',
  'Such as {log_ids}': '例: {log_ids}',
  '1 notification': '通知 1 件',
  '{n} notifications': '通知 {n} 件',
  'One of them with all its attempts: {command}': '1 件のすべての試行: {command}',
  'For the commands: {command}': 'コマンドの前に: {command}',
  'What to do: {page}': '対処: {page}',
  '{provider}: down for a day, since {since} ({error}).': '{provider}: 1 日停止中です（{since} から、{error}）。',
  '{provider}: down for a week, since {since} ({error}).': '{provider}: 1 週間停止中です（{since} から、{error}）。',
  '{provider}: down for {n} days, since {since} ({error}).': '{provider}: {n} 日停止中です（{since} から、{error}）。',
  'What waits for it is not known.': '待っている通知の数は不明です。',
  'About {n} notifications wait for it.': '約 {n} 件の通知が待っています。',
  'Nothing is switched off by itself: what waits is given up at the end of its window, and new notifications are held.':
    '自動では何も止めません。待っている通知は保持期間の終わりに断念し、新しい通知は保留します。',
};

/**
 * A notice in the language of the stage (`notices.language`), line by line: one without a translation stays English. So
 * does the subject, which is ASCII, and by which people filter.
 */
export function noticeIn<N extends { readonly text: string }>(language: Language, notice: N): N {
  if (language === 'en') return notice;
  const translate = translator({ ...JAPANESE_NOTICES, ...JAPANESE_REMEDIES });
  return { ...notice, text: notice.text.replace(/[^\s].*/g, translate) };
}
