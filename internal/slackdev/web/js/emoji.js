// The emoji that bots of this kind use; any other name is shown as :name:.
const table = {
  white_check_mark: '✅', heavy_check_mark: '✔️', x: '❌', warning: '⚠️', no_entry: '⛔', no_entry_sign: '🚫', lock: '🔒', unlock: '🔓',
  hourglass: '⌛', hourglass_flowing_sand: '⏳', clock1: '🕐', alarm_clock: '⏰', eyes: '👀', rocket: '🚀', tada: '🎉', wave: '👋',
  thumbsup: '👍', '+1': '👍', thumbsdown: '👎', '-1': '👎', robot_face: '🤖', gear: '⚙️', wrench: '🔧', moneybag: '💰', bell: '🔔',
  question: '❓', exclamation: '❗', information_source: 'ℹ️', memo: '📝', pencil2: '✏️', fire: '🔥', bulb: '💡', link: '🔗', mag: '🔍',
  double_vertical_bar: '⏸️', arrow_forward: '▶️', rotating_light: '🚨', shield: '🛡️', key: '🔑', smile: '😄', point_right: '👉',
  large_green_circle: '🟢', red_circle: '🔴', large_yellow_circle: '🟡', raised_hand: '✋', hand: '✋', zap: '⚡', package: '📦',
};

export function emoji(name) {
  return table[name] || `:${name}:`;
}
