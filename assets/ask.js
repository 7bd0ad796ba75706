// A question in the place of the answer. A link with ask=on hides the answers of the page until the reader has named one;
// the page (index.html) fetches this file for such a link alone, and style/ask.css keeps the room.
const root = document.documentElement;
const live = document.querySelector("#embed-answer > .live");
const counts = new URLSearchParams(location.search).has("task") ? "" : " sequences";

const make = (tag, look, ...inner) => {
  const one = Object.assign(document.createElement(tag), look);
  one.append(...inner);
  return one;
};
const wrong = make("p", { id: "ask-wrong", className: "field-error", role: "alert" });
const guess = make("input", { id: "ask-guess", inputMode: "numeric", autocomplete: "off" });
guess.setAttribute("aria-describedby", wrong.id);
const label = make("label", { htmlFor: guess.id }, `How many${counts} fit on one GPU? The answer is hidden until you say.`);
const press = make("button", { className: "button" }, "Show the answer");
const form = make("form", { className: "ask", noValidate: true }, label, make("div", { className: "ask-row" }, guess, press), wrong);

// The page tells its own window the answer, once its program is there and was asked.
const told = () =>
  new Promise((done) => {
    const ask = () => postMessage({ bmax: 1, type: "ask" }, "*");
    const again = setInterval(ask, 250);
    addEventListener("message", function hear({ source, data }) {
      if (source !== self || data?.bmax !== 1 || data.type !== "answer") return;
      clearInterval(again);
      removeEventListener("message", hear);
      done(data);
    });
    ask();
  });

// How far off a number is, in words.
const judged = (said, { b_max, capped, fits }) => {
  if (fits === null) return "These settings have no answer; the page says why.";
  const most = b_max ?? 0;
  const answer = most === 0 ? "not even one fits" : `the answer is ${capped ? "at least " : ""}${most.toLocaleString("en")}`;
  if (said === most || (capped && said >= most)) return `You said ${said.toLocaleString("en")}, and that is right: ${answer}.`;
  const off = Math.abs(said - most).toLocaleString("en");
  return `You said ${said.toLocaleString("en")}; ${answer}. That is ${off} too ${said > most ? "many" : "few"}.`;
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = guess.value.trim().replaceAll(",", "");
  const isNumber = /^\d{1,7}$/.test(text);
  guess.ariaInvalid = String(!isNumber);
  wrong.textContent = isNumber ? "" : "A whole number; 0 if not even one fits.";
  if (!isNumber) return guess.focus();
  press.disabled = true;
  const said = make("p", { className: "ask-said", role: "status", tabIndex: -1 }, judged(+text, await told()));
  delete root.dataset.ask;
  form.replaceWith(make("div", { className: "ask" }, said));
  said.focus();
});

if (live) live.before(form);
else delete root.dataset.ask;
