// Fingers and on-screen keyboards. GLFW makes a mouse of the first finger; here one finger scrolls a list where it drags nothing else, two
// fingers become a wheel and a drag, and what an on-screen keyboard writes becomes keys.
'use strict';

const touch = {
  used: false,    // whether this visitor has touched the page: others have a keyboard
  first: null,    // where a single finger was, as long as it may begin to scroll or does
  seen: false,    // whether the program has drawn a frame since that finger came: only then it knows what is below
  scrolls: false,
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

/// What a finger has pressed is let go where there is nothing, so that it is no click. Of several, which was first differs by browser.
function letGo(fingers) {
  const canvas = at('canvas');
  canvas.dispatchEvent(new MouseEvent('mousemove', {clientX: -1, clientY: -1, bubbles: true}));
  // Not a TouchEvent, which Firefox does not have everywhere where there are fingers.
  const cancelled = new Event('touchcancel', {bubbles: true, cancelable: true});
  canvas.dispatchEvent(Object.assign(cancelled, {touches: [], targetTouches: [], changedTouches: [...fingers]}));
}

function place(finger) { return {clientX: finger.clientX, clientY: finger.clientY}; }

/// Whether this move of a single finger scrolls.
function scrollsBy(finger) {
  if (touch.scrolls || !touch.first) return touch.scrolls;
  const across = Math.abs(finger.clientX - touch.first.clientX), along = Math.abs(finger.clientY - touch.first.clientY);
  const meant = 8;  // pixels
  if (!touch.seen || Math.max(across, along) < meant) return false;
  touch.scrolls = along > across && Boolean(_attn_can_scroll());
  if (!touch.scrolls) touch.first = null;
  else letGo([finger]);
  return touch.scrolls;
}

function scrollTo(finger) {
  mouse('mousemove', place(finger));
  wheel(place(finger), 3 * (touch.first.clientY - finger.clientY));
  touch.first = place(finger);
}

function beginGesture(event) {
  letGo(event.touches);
  touch.first = null;
  touch.scrolls = false;
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

function awaitFrame(finger) {
  touch.first = place(finger);
  touch.seen = false;
  // The next frame takes the press, and is drawn before the one after it.
  requestAnimationFrame(() => requestAnimationFrame(() => { touch.seen = true; }));
}

function onOneFinger(event) {
  const finger = event.changedTouches[0], scrolled = touch.scrolls;
  if (event.type === 'touchstart') awaitFrame(finger);
  else if (event.type === 'touchmove' && scrollsBy(finger)) scrollTo(finger);
  else if (event.type !== 'touchmove') touch.first = null, touch.scrolls = false;
  if (!touch.scrolls && !scrolled) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

function onTouch(event) {
  if (!event.isTrusted) return;
  touch.used = true;
  if (event.touches.length < 2 && !touch.fingers) return onOneFinger(event);
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
