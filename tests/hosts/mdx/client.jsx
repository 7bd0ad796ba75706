import { hydrateRoot } from "react-dom/client";
import Page from "./page.jsx";

// A difference between what was built and what is taken over is a fault of the notes, which the tests hear.
hydrateRoot(document.getElementById("root"), <Page />);
