// What runs in the page: it reads a figure as a reader would, and presses what a reader would press.
//
// Everything is found by role and accessible name, never by class or data attribute, so that two versions of a figure
// with other markup give the same record.
(() => {
  const CONTROLS =
    'input:not([type=hidden]), select, textarea, button, summary, a[href], ' +
    '[role=button], [role=checkbox], [role=radio], [role=slider], [role=switch], [role=tab]';
  const INLINE = /^(inline|contents|ruby|none)/;
  const clean = (text) => text.replace(/\s+/g, ' ').trim();
  const parts = (figure, selector) => [...figure.querySelectorAll(selector)].filter(isSeen);

  function isSeen(element) {
    return element.checkVisibility({ visibilityProperty: true }) && !element.closest('.figure-share');
  }

  /** The figure with its caption. */
  function figureOf(name) {
    const live = document.querySelector(`[data-figure="${name}"]`);
    return live.closest('figure') ?? live;
  }

  // --- Text ---------------------------------------------------------------------------------------------------

  /** The visible text by lines. As innerText has it, but for drawings and lists of options, which are recorded apart. */
  function linesOf(root, without = '') {
    let text = '';
    const visit = (node, isMath) => {
      if (node.nodeType === Node.TEXT_NODE) {
        // Spaces between the elements of a formula are not shown.
        const isShown = getComputedStyle(node.parentElement).visibility === 'visible';
        if (isShown) text += isMath ? clean(node.data) : node.data.replace(/\s+/g, ' ');
        return;
      }
      if (node.nodeType !== Node.ELEMENT_NODE) return;
      if (node.matches('svg, canvas, select, input, textarea, template, script, style, annotation, .figure-share, .live-wait')) {
        text += ' ';
        return;
      }
      if (without && node !== root && node.matches(without)) return;
      const style = getComputedStyle(node);
      if (style.display === 'none') return;
      const isFolded = node.localName === 'details' && !node.open;
      const isBlock = !isMath && !INLINE.test(style.display);
      if (isBlock || node.localName === 'br') text += '\n';
      for (const child of node.childNodes) {
        if (isFolded && child.localName !== 'summary') continue;
        visit(child, isMath || node.localName === 'math');
      }
      if (isBlock) text += '\n';
    };
    visit(root, false);
    return text.split('\n').map(clean).filter(Boolean);
  }

  const textOf = (element, without) => linesOf(element, without).join(' ');

  // --- Names --------------------------------------------------------------------------------------------------

  const referred = (element, attribute) =>
    (element.getAttribute(attribute) ?? '')
      .split(/\s+/)
      .map((id) => id && document.getElementById(id))
      .filter(Boolean);

  const wordsOf = (element) => textOf(element, '[aria-hidden=true]');

  /** The accessible name, in the order of the standard; what a style sheet adds is left out. */
  function nameOf(element) {
    const labelled = referred(element, 'aria-labelledby').map(wordsOf).join(' ');
    if (labelled) return labelled;
    const label = clean(element.getAttribute('aria-label') ?? '');
    if (label) return label;
    if (element.labels?.length) return [...element.labels].map(wordsOf).join(' ');
    const isNamedByContent = /^(button|link|summary|radio|checkbox|switch|tab)$/.test(roleOf(element));
    const content = isNamedByContent ? wordsOf(element) : '';
    return content || clean(element.title ?? '') || clean(element.placeholder ?? '');
  }

  function roleOf(element) {
    const role = element.getAttribute('role');
    if (role) return role;
    const tag = element.localName;
    if (tag === 'input') return { text: 'field', number: 'field', range: 'slider' }[element.type] ?? element.type;
    return { a: 'link', select: 'list', textarea: 'field', canvas: 'img', svg: 'img' }[tag] ?? tag;
  }

  /** The name of the nearest group that has one. */
  function groupOf(element) {
    for (let place = element.parentElement; place && place.localName !== 'figure'; place = place.parentElement) {
      if (place.localName === 'fieldset') {
        const legend = [...place.children].find((child) => child.localName === 'legend');
        if (legend) return wordsOf(legend);
      }
      if (/^(group|radiogroup|region|form)$/.test(place.getAttribute('role') ?? place.localName)) {
        const name = nameOf(place);
        if (name) return name;
      }
    }
    return '';
  }

  // --- Controls -----------------------------------------------------------------------------------------------

  function optionsOf(list) {
    const options = [...list.options].filter((option) => !option.hidden && getComputedStyle(option).display !== 'none');
    return options.map((option) => {
      const heading = option.parentElement.localName === 'optgroup' ? `${option.parentElement.label}: ` : '';
      return `${heading}${clean(option.text)}${option.disabled ? ' (disabled)' : ''}`;
    });
  }

  /** What a reader and assistive technology are told of a control. What is not set is left out. */
  function controlOf(element) {
    const told = (name) => element.getAttribute(name) ?? undefined;
    // Where "false" says the same as nothing.
    const set = (name) => (['false', null].includes(element.getAttribute(name)) ? undefined : told(name));
    const role = roleOf(element);
    const isDisabled = element.matches(':disabled') || element.closest('[inert]') !== null;
    const control = {
      role,
      name: nameOf(element),
      group: groupOf(element) || undefined,
      id: element.id || undefined,
      disabled: isDisabled || undefined,
      'aria-disabled': set('aria-disabled'),
      'aria-pressed': told('aria-pressed'),
      'aria-expanded': told('aria-expanded'),
      'aria-checked': told('aria-checked'),
      'aria-current': set('aria-current'),
      'aria-invalid': set('aria-invalid'),
      'aria-valuetext': told('aria-valuetext'),
      'aria-valuenow': told('aria-valuenow'),
      'aria-valuemin': told('aria-valuemin'),
      'aria-valuemax': told('aria-valuemax'),
      description: referred(element, 'aria-describedby').filter(isSeen).map(wordsOf).join(' ') || undefined,
      title: clean(element.title ?? '') || undefined,
      placeholder: element.placeholder || undefined,
      inputmode: told('inputmode'),
    };
    if (role === 'slider' && element.localName === 'input') {
      for (const name of ['min', 'max', 'step']) control[name] = told(name);
    }
    if (role === 'field' || (role === 'slider' && element.localName === 'input')) control.value = element.value;
    if (role === 'radio' || role === 'checkbox') control.checked = element.checked;
    if (role === 'list') {
      control.value = clean(element.selectedOptions?.[0]?.text ?? '');
      control.options = optionsOf(element);
    }
    if (role === 'link') control.href = element.getAttribute('href');
    return control;
  }

  // --- What else there is to see --------------------------------------------------------------------------------

  function tableOf(table) {
    const cell = (one) => {
      const spans = [one.colSpan > 1 ? `${one.colSpan} columns` : '', one.rowSpan > 1 ? `${one.rowSpan} rows` : ''];
      const head = one.localName === 'th' ? `${one.scope || 'th'}: ` : '';
      return head + textOf(one) + spans.filter(Boolean).map((span) => ` (${span})`).join('');
    };
    return {
      caption: table.caption && isSeen(table.caption) ? textOf(table.caption) : '',
      rows: [...table.rows].filter(isSeen).map((row) => [...row.cells].filter(isSeen).map(cell)),
    };
  }

  /** What a drawing holds. Where its lines run is left out: that is rounded in one way or another. */
  function drawingOf(drawing) {
    const count = (selector) => parts(drawing, selector).length;
    return {
      kind: drawing.localName,
      name: nameOf(drawing),
      paths: count('path, polyline, polygon'),
      dots: count('circle, ellipse'),
      words: parts(drawing, 'text').map((one) => clean(one.textContent)).filter(Boolean).sort(),
    };
  }

  /** The styles that the style sheets hold for elements with a `data-style`. */
  function numberedStyles() {
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    const numbered = rules.flatMap((rule) =>
      [...(rule.selectorText ?? '').matchAll(/\[data-style="?(\d+)"?\]/g)].map(([, number]) => [number, rule.style]),
    );
    return new Map(numbered);
  }

  /** The custom properties that elements carry, each with its values in the order of the page. */
  function variablesOf(figure) {
    const found = {};
    const sheet = numberedStyles();
    for (const element of parts(figure, '[style], [data-style]')) {
      // As a page is built, a style is moved to the style sheet under a number; what the element says itself wins.
      const styles = [element.style, sheet.get(element.dataset.style)].filter(Boolean);
      for (const name of new Set(styles.flatMap((style) => [...style]))) {
        if (!name.startsWith('--')) continue;
        const value = clean(styles.find((style) => style.getPropertyValue(name) !== '').getPropertyValue(name));
        // 0.50000 and 0.5 are the same length.
        const plain = value.replace(/-?\d*\.?\d+(e-?\d+)?/gi, (number) => String(+(+number).toFixed(4)));
        (found[name] ??= []).push(plain);
      }
    }
    return Object.fromEntries(Object.keys(found).sort().map((name) => [name, found[name]]));
  }

  /** Texts that only assistive technology reads, beside those of controls. */
  function labelsOf(figure) {
    const labelled = parts(figure, '[aria-label], [aria-labelledby], [role=img]').filter((one) => !one.matches(CONTROLS));
    return labelled.map((one) => `${roleOf(one)} “${nameOf(one)}”${one.tabIndex === 0 ? ', in the tab order' : ''}`);
  }

  /** What is spoken when it changes. */
  function spokenOf(figure) {
    const live = parts(figure, '[aria-live], [role=status], [role=alert], output');
    const how = (one) => one.getAttribute('aria-live') ?? one.getAttribute('role') ?? 'output';
    return live.filter((one) => how(one) !== 'off').map((one) => `${how(one)}: ${textOf(one)}`.trim());
  }

  function focused(figure) {
    const element = document.activeElement;
    if (!element || element === document.body) return 'nowhere';
    if (!figure.contains(element)) return 'outside';
    return `${roleOf(element)} “${nameOf(element)}”`;
  }

  const foldsOf = (figure) =>
    parts(figure, 'details').map((fold) => {
      const summary = fold.querySelector(':scope > summary');
      return `${summary ? textOf(summary) : 'no summary'}: ${fold.open ? 'open' : 'closed'}`;
    });

  // --- Waiting --------------------------------------------------------------------------------------------------

  const frame = () => new Promise(requestAnimationFrame);

  /** Resolves when nothing has changed in the page for some frames, and nothing says that it is busy. */
  async function settled(still = 2) {
    let changes = 0;
    const observer = new MutationObserver(() => (changes += 1));
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    let quiet = 0;
    // A figure that never rests is recorded as it then is.
    for (let frames = 0; frames < 150 && quiet < still; frames++) {
      const before = changes;
      await frame();
      quiet = changes === before && !document.querySelector('[aria-busy=true]') ? quiet + 1 : 0;
    }
    observer.disconnect();
  }

  /** Unfolds everything and waits for what is in the folds. What fetches a second module is left alone. */
  async function unfold(figure) {
    for (let round = 0; round < 8; round++) {
      const closed = parts(figure, 'details:not([open], [data-desk])').filter((fold) => fold.querySelector('summary'));
      if (!closed.length) return;
      for (const fold of closed) fold.querySelector('summary').click();
      await settled();
      const isEmpty = (fold) => linesOf(fold).length < 2 && !fold.querySelector('svg, canvas, input, select');
      for (let frames = 0; frames < 60 && closed.some((fold) => isSeen(fold) && isEmpty(fold)); frames++) await frame();
    }
  }

  /** All that there is to know about a figure at this moment. */
  async function record(name) {
    await settled();
    const figure = figureOf(name);
    const focus = focused(figure);
    const folds = foldsOf(figure);
    await unfold(figure);
    const notices = document.getElementById('notices');
    const drawings = parts(figure, 'svg, canvas').filter((one) => !one.closest('[aria-hidden=true]'));
    return {
      text: linesOf(figure),
      controls: parts(figure, CONTROLS).map(controlOf),
      tables: parts(figure, 'table').map(tableOf),
      drawings: drawings.map(drawingOf),
      variables: variablesOf(figure),
      labels: labelsOf(figure),
      spoken: spokenOf(figure),
      testids: parts(figure, '[data-testid]').map((one) => one.dataset.testid),
      folds,
      focus,
      notices: notices && isSeen(notices) ? linesOf(notices) : [],
    };
  }

  // --- Acting ---------------------------------------------------------------------------------------------------

  const SHARE = '[data-desk=share]';

  /** What can be used, one entry for a group of radio buttons. The key says what it is to a reader. */
  function actorsOf(figure) {
    const actors = [];
    const seen = new Map();
    const add = (kind, name, elements) => {
      const key = `${kind} “${name.length > 60 ? `${name.slice(0, 60)}…` : name}”`;
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      actors.push({ key: count === 1 ? key : `${key} #${count}`, kind, elements });
    };
    const grouped = new Set();
    for (const element of parts(figure, `${CONTROLS}, details[data-desk] > summary`)) {
      const role = roleOf(element);
      if (role === 'link' || element.matches(SHARE) || grouped.has(element)) continue;
      if (role === 'summary' && !element.parentElement.matches('[data-desk]')) continue;
      if (role === 'radio' && element.localName === 'input') {
        const radios = parts(figure, 'input[type=radio]').filter((one) => element.name && one.name === element.name);
        const group = radios.length ? radios : [element];
        group.forEach((one) => grouped.add(one));
        add('radio', groupOf(element) || nameOf(element), group);
      } else {
        const group = groupOf(element);
        add(role, group ? `${nameOf(element)}, ${group}` : nameOf(element), [element]);
      }
    }
    // The pointer on a plot reads it off.
    for (const drawing of parts(figure, 'svg, canvas')) {
      const { width, height } = drawing.getBoundingClientRect();
      if (width >= 150 && height >= 80 && !drawing.closest('[aria-hidden=true]')) add('drawing', nameOf(drawing), [drawing]);
    }
    return actors;
  }

  function find(name, key) {
    return actorsOf(figureOf(name)).find((actor) => actor.key === key);
  }

  /** Sets the value as a reader's input does, whatever the framework has put over the property. */
  function put(element, value) {
    const prototype = Object.getPrototypeOf(element);
    Object.getOwnPropertyDescriptor(prototype, 'value').set.call(element, value);
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    element.dispatchEvent(new Event('change', { bubbles: true, composed: true }));
  }

  /** At most `most` of a list, evenly spread, with the first and the last. */
  function spread(list, most) {
    if (list.length <= most) return list;
    return Array.from({ length: most }, (_, at) => list[Math.round((at * (list.length - 1)) / (most - 1))]);
  }

  function point(element, type, part, buttons) {
    const place = element.getBoundingClientRect();
    const at = { clientX: place.left + place.width * part, clientY: place.top + place.height / 2 };
    const settings = { bubbles: true, composed: true, cancelable: true, pointerType: 'mouse', isPrimary: true };
    element.dispatchEvent(new PointerEvent(type, { ...at, ...settings, buttons, pointerId: 1 }));
  }

  /** The steps that use a control in all its ways: [what is said of it, what is done to its element]. */
  function stepsOf(actor) {
    const [element] = actor.elements;
    switch (actor.kind) {
      case 'radio': {
        if (element.localName !== 'input') return [['pressed', (one) => one.click()]];
        const checked = actor.elements.findIndex((radio) => radio.checked);
        const order = actor.elements.map((_, at) => at).filter((at) => at !== checked);
        // The last step leads back, if there is a way back.
        if (checked >= 0) order.push(checked);
        return order.map((at) => [nameOf(actor.elements[at]), (_, all) => (all[at].focus(), all[at].click())]);
      }
      case 'checkbox':
        return [1, 2].map((time) => [`pressed ${time}`, (one) => one.click()]);
      case 'slider': {
        if (element.localName !== 'input') {
          const press = (key) => (one) => {
            one.focus();
            one.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, composed: true, cancelable: true }));
          };
          const keys = ['Home', 'End', 'PageDown', 'ArrowLeft', 'ArrowRight', 'Escape'].map((key) => [key, press(key)]);
          const over = ['pointer over it', (one) => point(one, 'pointermove', 0.7, 0)];
          return [...keys, over, ['PageUp', press('PageUp')], ['Enter', press('Enter')]];
        }
        const [min, max] = [+element.min || 0, element.max === '' ? 100 : +element.max];
        const step = element.step === '' ? 1 : +element.step || 1;
        const at = (part) => String(min + Math.round(((max - min) * part) / step) * step);
        const places = [at(0.3), String(max), element.value];
        return places.map((value) => [value, (one) => (one.focus(), put(one, value))]);
      }
      case 'list': {
        const now = element.value;
        const values = [...element.options].filter((option) => !option.hidden).map((option) => option.value);
        const others = spread(values.filter((value) => value !== now), 8);
        const named = (value) => clean([...element.options].find((option) => option.value === value)?.text ?? value);
        return [...others, now].map((value) => [named(value), (one) => (one.focus(), put(one, value))]);
      }
      case 'field': {
        const now = element.value;
        const write = (value) => (one) => (one.focus(), put(one, value));
        if (element.localName === 'textarea') {
          const half = now.split('\n').slice(0, Math.ceil(now.split('\n').length / 2)).join('\n');
          return [['its first half', write(half)], ['a line more', write(`${half}\nno such thing 3`)], ['as it was', write(now)]];
        }
        const number = parseFloat(now.replace(/,/g, ''));
        const other = Number.isFinite(number) ? String(number === 0 ? 1 : number * 2) : '12';
        return [[other, write(other)], ['0.5', write('0.5')], ['abc', write('abc')], [`“${now}”`, write(now)]];
      }
      case 'drawing':
        return [0.25, 0.7].map((part) => [
          `pointer at ${part}`,
          (one) => ['pointermove', 'pointerdown', 'pointerup'].forEach((type) => point(one, type, part, type === 'pointerdown' ? 1 : 0)),
        ]);
      default:
        return [1, 2, 3].map((time) => [`pressed ${time}`, (one) => (one.focus?.(), one.click())]);
    }
  }

  /** The control again, after the figure may have made its elements anew, with another name. */
  function again(name, actor, at) {
    if (actor.elements.every((element) => element.isConnected && isSeen(element))) return actor;
    const same = find(name, actor.key);
    const next = same ?? actorsOf(figureOf(name))[at];
    return next?.kind === actor.kind && next.elements.length === actor.elements.length ? next : undefined;
  }

  const same = (one, other) => JSON.stringify({ ...one, folds: 0 }) === JSON.stringify({ ...other, folds: 0 });

  /** Uses one control in all its ways; a record after each. */
  async function use(name, key) {
    const figure = figureOf(name);
    await settled();
    await unfold(figure);
    const at = actorsOf(figure).findIndex((actor) => actor.key === key);
    let actor = actorsOf(figure)[at];
    if (!actor) return [{ step: 'not found', made: {} }];
    const records = [];
    for (const [step, act] of stepsOf(actor)) {
      actor = again(name, actor, at);
      if (!actor) break;
      act(actor.elements[0], actor.elements);
      const made = await record(name);
      const last = records.at(-1);
      // A button that changes nothing more is not pressed once more.
      if (step.startsWith('pressed ') && last && same(last.made, made)) break;
      records.push({ step, made });
    }
    return records;
  }

  /**
   * Uses the next control that `used` does not name, in one way, and does not put it back. Buttons that `late` says are
   * left for the end, such as those that put back what has just been changed.
   */
  async function useNext(name, used, late) {
    await settled();
    const unused = actorsOf(figureOf(name)).filter((one) => !used.includes(one.key) && one.kind !== 'drawing');
    const isLate = (one) => one.kind === 'button' && late && !late.includes(one.key);
    const actor = unused.find((one) => !isLate(one)) ?? unused[0];
    if (!actor) return undefined;
    const steps = stepsOf(actor);
    const isFilled = actor.kind === 'field' && actor.elements[0].value !== '';
    // Of a list or a row of buttons the last but the present one; of a field a number that may be refused.
    let [step, act] = steps[0];
    if (['radio', 'list'].includes(actor.kind) && steps.length > 1) [step, act] = steps.at(-2);
    if (actor.kind === 'field' && !isFilled && actor.elements[0].localName === 'input') {
      // Two empty fields get two numbers.
      const number = String(3 + 7 * used.length);
      [step, act] = [number, (one) => (one.focus(), put(one, number))];
    }
    act(actor.elements[0], actor.elements);
    return { key: actor.key, step, made: await record(name) };
  }

  // A figure that is built in the browser says when it is mounted. One that stands in the page from the start is inert
  // until it is taken over.
  const live = new WeakSet();
  new MutationObserver((changes) => {
    for (const { target } of changes) if (!target.hasAttribute('inert')) live.add(target);
  }).observe(document, { subtree: true, attributeFilter: ['inert'] });
  const ready = (name) => {
    const figure = document.querySelector(`[data-figure="${name}"]`);
    return figure !== null && (figure.hasAttribute('data-mounted') || live.has(figure));
  };
  const actors = async (name) => {
    await settled();
    await unfold(figureOf(name));
    return actorsOf(figureOf(name)).map((actor) => actor.key);
  };
  window.compareFigures = { ready, record, actors, use, useNext, settled, unfold: (name) => unfold(figureOf(name)) };
})();
