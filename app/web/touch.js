// Fingers and on-screen keyboards. GLFW makes a mouse of the first finger; here two fingers become a wheel and a drag, and what an on-screen
// keyboard writes becomes keys.
'use strict';

const touch = {
  used: false,    // whether this visitor has touched the page: others have a keyboard
  fingers: null,  // the middle and the distance of two fingers
  turned: 0,      // how far the distance has changed that is not yet a turn of the wheel, in doublings

  /// The program asks for text, or no longer.
  type(wanted) {
    if (!touch.used) return;
    if (wanted) at('typed').focus();
    else at('canvas').focus();
  },
};

function twoFingers(touches) {
  const [a, b] = touches;
  return {
    clientX: (a.clientX + b.clientX) / 2,
    clientY: (a.clientY + b.clientY) / 2,
    apart: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) || 1,
  };
}

const mouse = (type, where, more) => at('canvas').dispatchEvent(new MouseEvent(type, {...where, bubbles: true, button: 1, ...more}));
const wheel = (where, deltaY) => at('canvas').dispatchEvent(new WheelEvent('wheel', {...where, bubbles: true, cancelable: true, deltaY}));

/// What the first finger has pressed is let go where there is nothing, so that it is no click.
function beginGesture(event) {
  const canvas = at('canvas'), first = event.touches[0];
  canvas.dispatchEvent(new MouseEvent('mousemove', {clientX: -1, clientY: -1, bubbles: true}));
  canvas.dispatchEvent(new TouchEvent('touchcancel', {changedTouches: [first], bubbles: true, cancelable: true}));
  touch.fingers = twoFingers(event.touches);
  touch.turned = 0;
  mouse('mousemove', touch.fingers);
  mouse('mousedown', touch.fingers);
}

function moveGesture(event) {
  const now = twoFingers(event.touches), before = touch.fingers;
  touch.turned += Math.log2(now.apart / before.apart);
  mouse('mousemove', now);
  const turn = 0.25;  // a quarter of a doubling is one step of the wheel
  while (Math.abs(touch.turned) >= turn) {
    const step = Math.sign(touch.turned);
    touch.turned -= step * turn;
    if (_attn_owns_wheel()) wheel(now, -120 * step);
  }
  if (!_attn_owns_wheel()) wheel(now, 3 * (before.clientY - now.clientY));
  touch.fingers = now;
}

function endGesture() {
  mouse('mouseup', touch.fingers);
  touch.fingers = null;
}

function onTouch(event) {
  if (!event.isTrusted) return;
  touch.used = true;
  if (event.touches.length < 2 && !touch.fingers) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.touches.length === 2 && !touch.fingers) beginGesture(event);
  else if (event.touches.length === 2) moveGesture(event);
  else if (touch.fingers) endGesture();
}

function pressKey(key, keyCode) {
  for (const type of ['keydown', 'keyup']) dispatchEvent(new KeyboardEvent(type, {key, keyCode}));
}

/// On-screen keyboards change the text of a field and do not say which key it was; the field stays as it is.
function onTyped(event) {
  event.preventDefault();
  if (touch.byKey) return;
  if (event.inputType === 'deleteContentBackward') pressKey('Backspace', 8);
  else if (event.inputType === 'insertLineBreak') pressKey('Enter', 13);
  else for (const letter of event.data ?? '') dispatchEvent(new KeyboardEvent('keypress', {charCode: letter.codePointAt(0)}));
}

function listenToTouch() {
  for (const type of ['touchstart', 'touchmove', 'touchend', 'touchcancel'])
    addEventListener(type, onTouch, {capture: true, passive: false});
  at('typed').addEventListener('beforeinput', onTyped);
  // Of a real keyboard, the program has the key already.
  addEventListener('keydown', event => { if (event.isTrusted) touch.byKey = event.keyCode !== 229 && event.key !== 'Unidentified'; }, true);
  addEventListener('keypress', event => { if (event.target === at('typed')) event.preventDefault(); });
}
