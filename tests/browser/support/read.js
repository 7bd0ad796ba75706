const [done] = arguments;
const before = scrollY;
const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
const read = async () => {
    for (const figure of document.querySelectorAll("[data-figure]")) {
        const { bottom, top } = figure.getBoundingClientRect();
        if (bottom < 0 || top > innerHeight) figure.scrollIntoView({ block: "nearest", behavior: "instant" });
        for (let patience = 600; patience > 0 && !figure.hasAttribute("data-mounted"); patience -= 1) await frame();
        // In the first frame the browser says what has come into sight, and in the next ones that is drawn.
        for (let frames = 3; frames > 0; frames -= 1) await frame();
    }
    scrollTo({ top: before, behavior: "instant" });
    done(null);
};
read();
