// What arrives while somebody presses a button is drawn after that: a button that is replaced between the press and its
// release is not clicked, and one that moved is another one.

const longest = 1000; // ms; a longer press is a drag, or a list that the browser opened and tells nothing of

let pressed = null; // the timer that ends the press
let due = null;

// afterPress draws now or, while a button is held down, when it is let go.
export function afterPress(draw) {
  if (!pressed) { draw(); return; }
  due = draw;
  document.body.dataset.held = '';
}

function release() {
  clearTimeout(pressed);
  pressed = null;
  const draw = due;
  due = null;
  delete document.body.dataset.held;
  draw?.();
}

document.addEventListener('pointerdown', () => {
  clearTimeout(pressed);
  pressed = setTimeout(release, longest);
}, true);
for (const end of ['pointerup', 'pointercancel']) {
  document.addEventListener(end, () => { if (pressed) { clearTimeout(pressed); pressed = setTimeout(release); } }, true); // after the click
}
