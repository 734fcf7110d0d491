"""matplotlib's SVGs made small, to stand within a page: styles shared, groups and ids left out.

What is drawn stays the same to a tenth of a point. Text stays text, in the page's font.
"""

import itertools
import re
import xml.etree.ElementTree as ET

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
LEFT_OUT = {SVG + tag for tag in ("metadata", "style", "title", "desc")}
FONT = re.compile(r"font: ([\d.]+px) [^;]*")
REFERENCE = re.compile(r"#([\w.-]+)")
STRAIGHT = re.compile(r"(M[-\d. ]+[LHV][-\d. ]+)+")  # lines of two points: grid lines and axes are


def number(found):
    """A coordinate: to a tenth, and what is small, such as a marker's outline, to a hundredth."""
    value = float(found.group())
    text = f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def short(text):
    """The numbers of a path or a transformation, without white space that no parser needs."""
    text = re.sub(r"-?\d+\.\d+(e-\d+)?", number, " ".join(text.split()))
    text = re.sub(r" ?([A-Za-z]) ?", r"\1", text)
    text = re.sub(r"^M(\S+) (\S+)L\1 (\S+)$", r"M\1 \2V\3", text)
    return re.sub(r"^M(\S+) (\S+)L(\S+) \2$", r"M\1 \2H\3", text)


def gathered(elements):
    """The elements; several texts of one class, one after the other, in a group that has it."""
    def key(element):
        return element.tag, element.get("class")

    for (tag, look), members in itertools.groupby(elements, key):
        members = list(members)
        if tag == "text" and look and len(members) > 1:
            group = ET.Element("g", {"class": look})
            for one in members:
                del one.attrib["class"]
            group.extend(members)
            members = [group]
        yield from members


def uses(source):
    """{id: the style of its uses} of the shapes that stand in groups of their own, all alike."""
    found = {}
    for group in source.iter():
        here = [(one.get(XLINK + "href", "#")[1:], one.get("style", "")) for one in group
                if one.tag == SVG + "use"]
        for name, style in here:
            alike = len(set(here)) == 1 and len(here) == len(group)
            found.setdefault(name, set()).add(style if alike else None)
    return {name: style for name, (style, *more) in found.items() if not more and style is not None}


def marked(group):
    """A path whose corners have the shape that a group uses again and again, as its marker."""
    places = [f"{one.get('x', 0)} {one.get('y', 0)}" for one in group]
    alone = len(places) == 1
    return ET.Element("path", {
        **group.attrib, "d": f"M{' '.join(places)}{'h0' if alone else ''}", "fill": "none",
        "style": f"marker{'-start' if alone else ''}:url({group[0].get('href')})"})


class Drawings:
    """The SVGs of one page: the styles that they share are written once, in `css`, and a marker in
    the first that has it.
    """

    def __init__(self):
        self.classes = {}  # {style: class}
        self.markers = {}  # {(path, class, class of its uses): id}
        self.uses = {}  # of the present drawing
        self.numbers = map("{:x}".format, itertools.count())

    @property
    def css(self):
        return "\n".join(["svg marker{overflow:visible}", *(
            f"svg .{name}{{{style}}}" for style, name in self.classes.items())])

    def inline(self, path, title, description):
        """The <svg> element of a file, with a title and a description for those who cannot see."""
        source = ET.parse(path).getroot()
        self.uses = uses(source)
        used = sorted(set(REFERENCE.findall(ET.tostring(source, "unicode"))))
        ids = {name: f"i{next(self.numbers)}" for name in used}
        labels = [f"i{next(self.numbers)}" for _ in range(2)]
        root = ET.Element("svg", {"viewBox": source.get("viewBox"), "role": "img",
                                  "aria-labelledby": " ".join(labels)})
        for tag, label, text in zip(("title", "desc"), labels, (title, description)):
            ET.SubElement(root, tag, {"id": label}).text = text
        root.extend(gathered(self.drawn(source, ids)))
        return ET.tostring(root, "unicode").replace(" />", "/>")

    def drawn(self, source, ids):
        """What an element has: flat where its groups say nothing, straight lines of a look joined.
        """
        found, lines = [], {}
        for child in source:
            if child.tag in LEFT_OUT:
                continue
            made = ET.Element(child.tag.removeprefix(SVG), self.attributes(child, ids))
            made.text = (child.text or "").strip()
            made.extend(self.drawn(child, ids))
            if made.tag == "path" and "id" in made.attrib:
                used = self.uses.get(child.get("id"))
                known = self.markers.setdefault((made.get("d"), made.get("class"), used),
                                                made.get("id"))
                if known != made.get("id"):
                    ids[child.get("id")] = known
                    continue
                if used is not None:
                    made = self.marker(made, used)
            elif len(made) and child[0].get(XLINK + "href", "#")[1:] in self.uses:
                made = marked(made)
            if made.tag == "defs" and not len(made):
                continue
            for one in made if made.tag == "g" and not made.attrib else [self.shared(made)]:
                look = one.get("class"), one.get("clip-path")
                if not STRAIGHT.fullmatch(one.get("d", "")) or "id" in one.attrib:
                    found.append(one)
                elif look in lines:
                    lines[look].set("d", lines[look].get("d") + one.get("d"))
                else:
                    lines[look] = one
                    found.append(one)
        return found

    def marker(self, shape, style):
        """The shape as a marker, with what it inherits where it is used."""
        made = ET.Element("marker", {"id": shape.attrib.pop("id")})
        group = ET.SubElement(made, "g", {"class": self.class_of(style)}) if style else made
        group.append(shape)
        return made

    def shared(self, group):
        """The group with its children's class as its own, where they all have the same."""
        looks = {one.get("class") for one in group}
        if group.tag == "g" and len(looks) == 1 and looks != {None}:
            for one in group:
                group.set("class", one.attrib.pop("class"))
        return group

    def attributes(self, element, ids):
        """Those that change what is drawn: a style becomes a class, an id a short one."""
        made = {}
        for name, value in element.items():
            if name == "id":
                value = ids.get(value, "")
            elif name == "style":
                name, value = "class", self.class_of(FONT.sub(r"font-size: \1", value))
            elif "#" in value:
                value = REFERENCE.sub(lambda found: "#" + ids[found.group(1)], value)
            elif name == "transform" and value.startswith("rotate(-0 "):
                value = ""
            elif name in ("x", "y") and element.tag == SVG + "text":
                value = str(round(float(value)))
            elif name in ("d", "x", "y", "width", "height", "transform", "points"):
                value = short(value)
            if value:
                made[name.removeprefix(XLINK)] = value
        return made

    def class_of(self, style):
        style = style.replace(": ", ":").replace("; ", ";")
        return self.classes.setdefault(style, f"k{len(self.classes)}")
