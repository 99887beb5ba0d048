"""Pictures of colours and shapes, their preprocessing, and questions about them."""

import math

import numpy as np
from PIL import Image, ImageDraw

from . import numbers, talk
from .core import Message, Sample, Turn

IMAGE_MARK = "\ufff0"
MIN_PIXELS, MAX_PIXELS, FACTOR = 4096, 262144, 32
COLOURS = {
    "red": [(255, 0, 0), (220, 20, 30), (200, 0, 0)], "green": [(0, 255, 0), (0, 128, 0), (30, 160, 50)], "blue": [(0, 0, 255), (20, 60, 220), (0, 0, 180)], "yellow": [(255, 255, 0), (240, 230, 30), (250, 220, 0)],
    "orange": [(255, 165, 0), (255, 140, 0), (245, 130, 20)], "purple": [(128, 0, 128), (140, 40, 170), (110, 20, 150)], "pink": [(255, 192, 203), (255, 105, 180), (250, 150, 190)], "brown": [(139, 69, 19), (110, 60, 20), (150, 85, 40)],
    "black": [(0, 0, 0), (15, 15, 15)], "white": [(255, 255, 255), (245, 245, 245)], "gray": [(128, 128, 128), (150, 150, 150), (110, 110, 110)], "cyan": [(0, 255, 255), (20, 220, 230)],
}
NAMES = list(COLOURS)
SHAPES = ["circle", "square", "triangle", "star", "diamond", "cross", "rectangle", "ellipse"]
CHINESE = dict(zip(NAMES, "红色 绿色 蓝色 黄色 橙色 紫色 粉色 棕色 黑色 白色 灰色 青色".split()))
JAPANESE = dict(zip(NAMES, "赤 緑 青 黄色 オレンジ 紫 ピンク 茶色 黒 白 灰色 水色".split()))


def target_size(height, width):
    """Height and width after resizing, as the image processor of the model family computes them."""
    new_h, new_w = round(height / FACTOR) * FACTOR, round(width / FACTOR) * FACTOR
    if new_h * new_w > MAX_PIXELS:
        shrink = math.sqrt(height * width / MAX_PIXELS)
        return max(FACTOR, math.floor(height / shrink / FACTOR) * FACTOR), max(FACTOR, math.floor(width / shrink / FACTOR) * FACTOR)
    if new_h * new_w < MIN_PIXELS:
        grow = math.sqrt(MIN_PIXELS / (height * width))
        return math.ceil(height * grow / FACTOR) * FACTOR, math.ceil(width * grow / FACTOR) * FACTOR
    return new_h, new_w


def patches(image):
    """Resize a PIL image and cut it: uint8 rows of (channel, frame, 16, 16) in 2x2 block order, and the grid (h, w)."""
    height, width = target_size(image.height, image.width)
    if (image.height, image.width) != (height, width):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    pixels = np.asarray(image, dtype=np.uint8)
    gh, gw = height // 16, width // 16
    blocks = pixels.reshape(gh // 2, 2, 16, gw // 2, 2, 16, 3).transpose(0, 3, 1, 4, 6, 2, 5)
    rows = blocks.reshape(gh * gw, 3, 1, 256)
    return np.repeat(rows, 2, axis=2).reshape(gh * gw, 1536), (gh, gw)


def shade(g, name):
    """An RGB value of the named colour, sometimes a little off."""
    red, green, blue = g.pick(COLOURS[name])
    jitter = 0 if g.chance(0.5) else 8
    return tuple(min(255, max(0, value + g.int(-jitter, jitter))) for value in (red, green, blue))


def size(g):
    """A width and height; most are small so that they cost few tokens."""
    side = g.pick([32, 48, 64, 64, 64, 96, 100, 128, 128, 160, 192, 224, 256, 256, 320, 512])
    return (side, side) if g.chance(0.7) else (side, max(24, int(side * g.int(5, 20) / 10)))


def draw_shape(g, shape, fill, ground, width, height):
    """A shape somewhere near the middle."""
    scale = 2
    image = Image.new("RGB", (width * scale, height * scale), ground)
    pen = ImageDraw.Draw(image)
    span = min(width, height) * scale
    radius = span * g.int(25, 44) / 100
    x = width * scale / 2 + g.int(-10, 10) / 100 * (width * scale - 2 * radius)
    y = height * scale / 2 + g.int(-10, 10) / 100 * (height * scale - 2 * radius)
    if shape == "circle":
        pen.ellipse([x - radius, y - radius, x + radius, y + radius], fill=fill)
    elif shape == "ellipse":
        pen.ellipse([x - radius, y - radius / 2, x + radius, y + radius / 2], fill=fill)
    elif shape == "square":
        pen.rectangle([x - radius * 0.9, y - radius * 0.9, x + radius * 0.9, y + radius * 0.9], fill=fill)
    elif shape == "rectangle":
        pen.rectangle([x - radius, y - radius / 2, x + radius, y + radius / 2], fill=fill)
    elif shape == "triangle":
        pen.polygon([(x, y - radius), (x - radius, y + radius * 0.8), (x + radius, y + radius * 0.8)], fill=fill)
    elif shape == "diamond":
        pen.polygon([(x, y - radius), (x + radius * 0.8, y), (x, y + radius), (x - radius * 0.8, y)], fill=fill)
    elif shape == "cross":
        pen.rectangle([x - radius, y - radius * 0.3, x + radius, y + radius * 0.3], fill=fill)
        pen.rectangle([x - radius * 0.3, y - radius, x + radius * 0.3, y + radius], fill=fill)
    else:
        points = [(x + math.sin(i * math.pi / 5) * radius * (1 if i % 2 == 0 else 0.42), y - math.cos(i * math.pi / 5) * radius * (1 if i % 2 == 0 else 0.42)) for i in range(10)]
        pen.polygon(points, fill=fill)
    return image.resize((width, height), Image.Resampling.BILINEAR)


def solid(g):
    """Return (image, colour)."""
    name = g.pick(NAMES)
    return Image.new("RGB", size(g), shade(g, name)), name


COLOUR_ASK = ["[What|Which] [colour|color] is [this|this image|this picture|the image|the picture|it|shown|in the image|in the picture]?", "[What|Which] [colour|color] [do you see|is shown|can you see|fills the image|is this square|is the picture]?", "[Tell me|Name|Describe|Identify] the [colour|color] [of this image|of the picture|you see|].", "[Describe|What is in|What's in|What do you see in] [this|the] [image|picture|photo][.|?]", "What is the [main|dominant] [colour|color] [here|of the image|in this image]?", "[colour|color]?", "[What is this|What do you see|What's this]?",
              "What [colour|color]?", "[Can you|Please] [tell me|say] [what|which] [colour|color] this [image|picture] is[?|.]", "The [image|picture] is [which|what] [colour|color]?", "[Look at the image.|Here is an image.] What [colour|color] is it?"]
QUADRANT_ASK = ["[What|Which] [colours|colors] are [in the four quadrants|in the quadrants|in the four parts|in the four corners|in this image|in the picture|shown]?", "[Name|List|Tell me|Give me] the [four |][colours|colors][ in this image| of the quadrants| you see| in order|][.|]", "[Describe|What is in|What do you see in] [this|the] [image|picture][.|?]", "This image has four [quadrants|squares|parts|areas]. [What|Which] [colours|colors] are they?", "[What are|Name] the [colours|colors] of the four [quadrants|squares|blocks|regions][ from top left to bottom right|][?|.]",
                "[Which|What] [colours|colors] [do you see|can you see|are there|does it have]?", "[The picture is|The image is] divided into four. Name [each|every] [colour|color].", "Name the [colours|colors] of [all four|the four|every] quadrant[s|][.|]", "[Four quadrants|4 quadrants], [which|what] [colours|colors]?"]
SHAPE_ASK = ["[What|Which] [shape|figure|form] [is this|is shown|is in the image|do you see|can you see]?", "[What is in|What's in|Describe|What do you see in] [this|the] [image|picture][?|.]", "[What|Which] shape and [colour|color] [is it|is this|do you see|is shown]?", "[Name|Identify|Describe] the [shape|figure|object][ and its colour|][.|]", "What is [drawn|shown|displayed|visible] [here|in the picture|in the image]?", "[What|Which] [colour|color] is the [shape|figure|object]?", "[shape|figure]?", "What [do you see|is this]?", "What [colored|coloured] shape is [this|in the picture]?"]
TWO_ASK = ["[What|Which] [colours|colors] are [these|the two|these two|the] [images|pictures]?", "[Describe|Compare] [the|these|both|the two] [images|pictures][.|]", "[Name|Tell me] the [colour|color] of [each|every] [image|picture][.|]", "What [is|do you see] in [each|the two] [image|images][?|]", "[Which|What] [colour|color] is the first [image|picture] and which is the second?", "What are the [colours|colors]?", "[What|Which] [colours|colors] do the [images|pictures] have[, in order|]?", "[First|Look at the first] image and second image: which [colours|colors]?"]


def place(g, text, count=1):
    """Put image marks before or after the text."""
    marks = IMAGE_MARK * count
    roll = g.int(0, 9)
    if roll < 5:
        return marks + text
    if roll < 9:
        return text + marks
    return marks + "\n" + text


def colour_turn(g):
    """A solid picture."""
    image, name = solid(g)
    language = g.pick(["en"] * 8 + ["zh", "ja"])
    if language == "zh":
        return Turn(place(g, g.pick(["这张图片是什么颜色？", "图片是什么颜色的？", "什么颜色？", "这是什么颜色？", "描述这张图片。", "请说出图片的颜色。"])), f"这张图片是纯{CHINESE[name]}的，没有其他内容。", f"图片是{CHINESE[name]}。", ("contains", [CHINESE[name]]), [image])
    if language == "ja":
        return Turn(place(g, g.pick(["この画像は何色ですか？", "何色ですか？", "画像の色を教えてください。", "この画像を説明してください。"])), f"この画像は{JAPANESE[name]}一色で、他には何もありません。", f"画像は{JAPANESE[name]}です。", ("contains", [JAPANESE[name]]), [image])
    user = place(g, g.say(COLOUR_ASK))
    return Turn(user, g.pick([f"The image is a solid {name} color.", f"The picture is completely {name}."]), f"The whole image is one colour: {name}.", ("contains_ci", [name]), [image])


def split_turn(g):
    """Four quadrants, or two halves."""
    width, height = size(g)
    if g.chance(0.7):
        if g.chance(0.3):
            width = height = 512
        chosen = g.some(["red", "green", "blue", "yellow"], 4) if g.chance(0.4) else g.some(NAMES, 4)
        if g.chance(0.15):
            chosen = ["red", "green", "blue", "yellow"]
        image = Image.new("RGB", (width, height))
        pen = ImageDraw.Draw(image)
        for index, name in enumerate(chosen):
            left, top = (index % 2) * (width // 2), (index // 2) * (height // 2)
            pen.rectangle([left, top, left + width - width // 2, top + height - height // 2], fill=shade(g, name))
        answer = f"The four quadrants are {chosen[0]} (top left), {chosen[1]} (top right), {chosen[2]} (bottom left) and {chosen[3]} (bottom right)."
        user = g.say(QUADRANT_ASK) if g.chance(0.9) else g.pick(["这张图片里有哪些颜色？", "画像の四つの色は何ですか？", "四个象限分别是什么颜色？"])
        return Turn(place(g, user), answer, f"Top row: {chosen[0]}, {chosen[1]}. Bottom row: {chosen[2]}, {chosen[3]}.", ("order", chosen), [image])
    first, second = g.some(NAMES, 2)
    image = Image.new("RGB", (width, height), shade(g, first))
    pen = ImageDraw.Draw(image)
    if g.chance(0.5):
        pen.rectangle([width // 2, 0, width, height], fill=shade(g, second))
        sides = ("left", "right")
    else:
        pen.rectangle([0, height // 2, width, height], fill=shade(g, second))
        sides = ("top", "bottom")
    user = g.say(["[What|Which] [colours|colors] are in [this|the] [image|picture]?", "[Describe|What is in] [this|the] [image|picture][.|?]", "[Which|What] two [colours|colors] do you see?", "Name [both|the two] [colours|colors]."])
    return Turn(place(g, user), f"The {sides[0]} half is {first} and the {sides[1]} half is {second}.", f"Two halves: {sides[0]} {first}, {sides[1]} {second}.", ("order", [first, second]), [image])


def shape_turn(g):
    """One shape on a background."""
    shape = g.pick(SHAPES)
    first, second = g.some(NAMES, 2) if g.chance(0.6) else (g.pick(NAMES[:8]), "white")
    width, height = size(g)
    image = draw_shape(g, shape, shade(g, first), shade(g, second), max(width, 64), max(height, 64))
    answer = f"The image shows {('an ' if first[0] in 'aeiou' else 'a ')}{first} {shape} on a {second} background.".replace("a orange back", "an orange back")
    return Turn(place(g, g.say(SHAPE_ASK)), answer, f"One shape: {first} {shape}. Background: {second}.", ("contains_ci", [first, shape]), [image])


def two_turn(g):
    """Two pictures."""
    (one, first), (two, second) = solid(g), solid(g)
    text = g.say(TWO_ASK)
    user = place(g, text, 2) if g.chance(0.7) else IMAGE_MARK + text + IMAGE_MARK
    return Turn(user, f"The first image is {first} and the second image is {second}.", f"First: {first}. Second: {second}.", ("order", [first, second]), [one, two])


def picture(g, thinking):
    """A conversation about one or two pictures, sometimes with other turns around it."""
    turn = g.pick([colour_turn, colour_turn, split_turn, split_turn, shape_turn, shape_turn, two_turn])(g)
    messages = []
    if g.chance(0.1):
        messages.append(Message("system", g.pick(["You are a helpful assistant.", "You can see images.", "Describe images briefly."])))
    if g.chance(0.1):
        other = g.pick([talk.greeting, talk.fact])(g, thinking)
        messages += [Message("user", other.user), Message("assistant", other.answer, think=other.think)]
    messages += [Message("user", turn.user, images=turn.images), Message("assistant", turn.answer, think=turn.think)]
    expect = turn.expect
    if g.chance(0.12):
        other = g.pick([talk.fact, numbers.arithmetic])(g, thinking) if g.chance(0.6) else colour_turn(g)
        messages += [Message("user", other.user, images=other.images), Message("assistant", other.answer, think=other.think)]
        expect = other.expect
    return Sample("picture", messages, expect, thinking)
