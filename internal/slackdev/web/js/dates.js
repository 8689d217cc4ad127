// Formats dates the way Slack's date tokens do, in the reader's time zone.

const day = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();

function relativeDay(d, otherwise) {
  const diff = Math.round((day(d) - day(new Date())) / 86400000);
  return { 0: 'today', '-1': 'yesterday', 1: 'tomorrow' }[diff] || otherwise;
}

function ago(d) {
  const s = Math.round((d.getTime() - Date.now()) / 1000);
  const f = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  for (const [unit, size] of [['day', 86400], ['hour', 3600], ['minute', 60]]) {
    if (Math.abs(s) >= size) return f.format(Math.round(s / size), unit);
  }
  return f.format(s, 'second');
}

export function formatDate(seconds, format) {
  const d = new Date(seconds * 1000);
  const f = (opts) => d.toLocaleString('en', opts);
  const long = f({ weekday: 'long', month: 'long', day: 'numeric', year: 'numeric' });
  const middle = f({ month: 'long', day: 'numeric', year: 'numeric' });
  const short = f({ month: 'short', day: 'numeric', year: 'numeric' });
  const tokens = {
    date_num: `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, '0')}-${String(d.getDate()).padStart(2, '0')}`,
    date_slash: f({ year: 'numeric', month: '2-digit', day: '2-digit' }),
    date: middle, date_short: short, date_long: long, date_long_full: long, date_full: middle,
    date_pretty: relativeDay(d, middle), date_short_pretty: relativeDay(d, short), date_long_pretty: relativeDay(d, long),
    day_divider_pretty: relativeDay(d, long),
    time: f({ hour: 'numeric', minute: '2-digit' }), time_secs: f({ hour: 'numeric', minute: '2-digit', second: '2-digit' }),
    ago: ago(d),
  };
  return format.replace(/\{(\w+)\}/g, (all, name) => tokens[name] ?? all);
}

export function clock(ts) {
  return new Date(Number(ts) * 1000).toLocaleTimeString('en', { hour: 'numeric', minute: '2-digit' });
}

export function fullTime(ts) {
  return new Date(Number(ts) * 1000).toLocaleString('en', { dateStyle: 'full', timeStyle: 'medium' });
}

export function dayLabel(ts) {
  const text = formatDate(Number(ts), '{date_long_pretty}');
  return text[0].toUpperCase() + text.slice(1);
}
