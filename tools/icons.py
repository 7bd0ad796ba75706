#!/usr/bin/env python3
"""Draws assets/icons/ from the SVG files beside it, with Chromium, and makes the files small.

Run it from anywhere after a change of an SVG; CHROMIUM names the browser. The icons are committed, so
that nobody who builds the page needs this.

Of the square, phones cut off the corners; of the maskable one, whatever lies outside a circle of four
fifths of its width (W3C, "Web Application Manifest", section on icon masks and safe zone).
"""

import collections
import os
import pathlib
import struct
import subprocess
import tempfile
import zlib

ASSETS = pathlib.Path(__file__).resolve().parent.parent / "assets"
ICONS = [
    ("favicon.svg", "192.png", 192),
    ("favicon.svg", "512.png", 512),
    ("icon-maskable.svg", "maskable-512.png", 512),
    ("icon-square.svg", "apple-touch-180.png", 180),
]
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def drawn(svg, size, folder):
    """The SVG as Chromium draws it, as the bytes of a PNG."""
    page = folder / "page.html"
    style = "margin:0;display:block"
    page.write_text(
        f'<body style="{style}"><img src="{svg.as_uri()}" width="{size}" height="{size}" style="{style}">'
    )
    picture = folder / "picture.png"
    subprocess.run(
        [
            os.environ.get("CHROMIUM", "chromium"),
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            "--default-background-color=00000000",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={size},{size + 200}",
            f"--screenshot={picture}",
            page.as_uri(),
        ],
        check=True,
        capture_output=True,
    )
    return picture.read_bytes()


def pixels(png, size):
    """The first `size` rows of `size` pixels of a PNG of 8 bits a channel, as (r, g, b, a)."""
    assert png.startswith(SIGNATURE)
    at, data = len(SIGNATURE), b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert width >= size and height >= size and depth == 8 and colour in (2, 6) and not interlaced
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    channels = 4 if colour == 6 else 3
    raw, stride = zlib.decompress(data), width * channels
    before, rows = bytearray(stride), []
    for y in range(size):
        start = y * (stride + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for x in range(stride):
            left = line[x - channels] if x >= channels else 0
            above = before[x]
            corner = before[x - channels] if x >= channels else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = above
            elif kind == 3:
                guess = (left + above) // 2
            elif kind == 4:
                base = left + above - corner
                guess = min((left, above, corner), key=lambda one: abs(base - one))
            else:
                guess = 0
            line[x] = (line[x] + guess) & 255
        before = line
        row = [tuple(line[x * channels : (x + 1) * channels]) for x in range(size)]
        rows.append([pixel if channels == 4 else (*pixel, 255) for pixel in row])
    return rows


def coarse(pixel):
    """A colour of the soft edge of a corner in steps that nobody sees, so that a palette has room for all."""
    # What cannot be seen has no colour of its own.
    return tuple(min(255, (channel + 8) // 16 * 16) for channel in pixel) if pixel[3] else (0, 0, 0, 0)


def small(rows):
    """The same picture as a PNG with a palette: a kilobyte or two are left."""
    size = len(rows)
    areas = {pixel for pixel, _ in collections.Counter(sum(rows, [])).most_common(6)}
    rows = [[pixel if pixel in areas else coarse(pixel) for pixel in row] for row in rows]
    # Translucent colours come first: the list of their alphas then ends with the last of them.
    palette = sorted({pixel for row in rows for pixel in row}, key=lambda pixel: (pixel[3], pixel))
    assert len(palette) <= 256, len(palette)
    places = {pixel: place for place, pixel in enumerate(palette)}
    bits = next(bits for bits in (1, 2, 4, 8) if len(palette) <= 1 << bits)
    data = bytearray()
    for row in rows:
        data.append(0)
        for x in range(0, size, 8 // bits):
            group = [places[pixel] for pixel in row[x : x + 8 // bits]]
            group += [0] * (8 // bits - len(group))
            byte = 0
            for value in group:
                byte = byte << bits | value
            data.append(byte)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    alphas = bytes(pixel[3] for pixel in palette if pixel[3] < 255)
    return b"".join(
        [
            SIGNATURE,
            chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, bits, 3, 0, 0, 0)),
            chunk(b"PLTE", b"".join(bytes(pixel[:3]) for pixel in palette)),
            chunk(b"tRNS", alphas) if alphas else b"",
            chunk(b"IDAT", zlib.compress(bytes(data), 9)),
            chunk(b"IEND", b""),
        ]
    )


def main():
    (ASSETS / "icons").mkdir(exist_ok=True)
    for source, name, size in ICONS:
        with tempfile.TemporaryDirectory() as folder:
            png = drawn(ASSETS / source, size, pathlib.Path(folder))
        icon = small(pixels(png, size))
        (ASSETS / "icons" / name).write_bytes(icon)
        print(f"{name}: {len(icon)} bytes")


if __name__ == "__main__":
    main()
