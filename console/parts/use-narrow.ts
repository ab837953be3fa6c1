import { useEffect, useState } from 'preact/hooks';

const query = matchMedia('(max-width: 44rem)');

/** Whether the window is as narrow as a phone: tables become cards. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const update = () => setNarrow(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, []);
  return narrow;
}
