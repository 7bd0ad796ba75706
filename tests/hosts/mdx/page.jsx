// The page around the text, as an MDX site has it: rendered once while the site is built, and taken over in the browser.
import { useState } from "react";
import Notes from "./notes.mdx";

function Switch() {
  const [dark, setDark] = useState(false);
  const press = () => {
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    setDark(!dark);
  };
  return (
    <button type="button" id="theme" onClick={press}>
      {dark ? "Light theme" : "Dark theme"}
    </button>
  );
}

export default function Page() {
  return (
    <>
      <header>
        <p>Training at scale</p>
        <Switch />
      </header>
      <main>
        <Notes />
      </main>
    </>
  );
}
