"""Finds the places that a machine can break, and writes a source with all of its faults in it.

A fault is chosen when a program starts, so that one build has them all: EL_FAULT(n) is true in a
process that runs with EL_FAULT=n. With EL_FAULTS_RUN=FILE each process also marks there by which
faults' places it has come. An operand without calls counts if dropping it changes its value.
"""

import collections
import dataclasses
import pathlib
import re

HEADER = pathlib.Path(__file__).with_name("fault.h")

# How a comparison is shifted by one: which of its operands grows.
GROWS = {b"<": 1, b"<=": 0, b">": 0, b">=": 1}
DROPPED = {b"&&": (b"(EL_FAULT_IS(%d) || el_fault_operand(%d, 1, (", b") ? 1 : 0))"),
           b"||": (b"(!EL_FAULT_IS(%d) && el_fault_operand(%d, 0, (", b") ? 1 : 0))")}
DROPPED_CALL = {b"&&": (b"(EL_FAULT(%d) || (", b"))"), b"||": (b"(!EL_FAULT(%d) && (", b"))")}
CALLS = re.compile(rb"\w\s*\(|\+\+|--|[^=!<>]=[^=]")
LEXEMES = re.compile(rb"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[();]", re.S)


@dataclasses.dataclass
class Fault:
    """One place: `before` and `after` go around the bytes from `start` to `end`."""
    file: str
    line: int
    function: str
    kind: str
    text: str
    start: int
    end: int
    before: bytes
    after: bytes
    number: int = 0
    of_many: int = 1

    @property
    def key(self):
        """Names it in tests/mutants/mechanical, also when lines move."""
        again = f" ({self.of_many})" if self.of_many > 1 else ""
        return f"{self.file} {self.function}: {self.kind}: {self.text}{again}"


class Source:
    """The faults of one file."""

    def __init__(self, root, file):
        self.file = file
        self.bytes = (root / file).read_bytes()
        self.faults = []
        self.macros = []  # where they are used: (start, end)
        self.function = ""
        self.keys = collections.Counter()

    def add(self, kind, start, end, before, after, shown=None):
        if any(start < macro[1] and end > macro[0] and (start > macro[0] or end < macro[1])
               for macro in self.macros):
            return  # a part of what a macro stands for
        line = self.bytes.count(b"\n", 0, start) + 1
        text = b" ".join(self.bytes[shown or slice(start, end)].split()).decode()
        fault = Fault(self.file, line, self.function, kind, text, start, end, before, after)
        self.keys[fault.key] += 1
        fault.of_many = self.keys[fault.key]
        self.faults.append(fault)

    def parentheses(self, start):
        """The bytes between the first ( behind `start` and its ), and each ; directly there."""
        depth, opened, parts = 0, 0, []
        for found in LEXEMES.finditer(self.bytes, start):
            if found[0] == b"(":
                depth += 1
                opened = found.end() if depth == 1 else opened
            elif found[0] == b")":
                depth -= 1
                if depth == 0:
                    return opened, found.start(), parts
            elif found[0] == b";" and depth == 1:
                parts.append(found.start())
        raise ValueError(f"{self.file}: no ) behind {start}")

    def negate(self, start, end):
        if self.bytes[start:end].strip():
            self.add("negated", start, end, b"(EL_FAULT(%d) ^ !!(", b"))")

    def sides(self, nodes):
        return [(side.extent.start.offset, side.extent.end.offset) for side in nodes]

    def chooses_an_operand(self, condition, *branches):
        """The least or the most of two: where they are equal, either is right."""
        words = [sorted(b" ".join(self.bytes[slice(*side)].split()) for side in self.sides(nodes))
                 for nodes in (condition.get_children(), branches)]
        return words[0] == words[1]

    def operands(self, node):
        """Drops an operand of && and ||, shifts the bound of a comparison."""
        sides = self.sides(node.get_children())
        if len(sides) != 2 or sides[0][1] > sides[1][0]:
            return  # within a macro
        between = self.bytes[sides[0][1]:sides[1][0]]
        operator = re.sub(rb"/\*.*?\*/", b"", between, flags=re.S).strip()
        if operator in DROPPED:
            for start, end in sides:
                around = DROPPED_CALL if CALLS.search(self.bytes, start, end) else DROPPED
                self.add(f"without an operand of {operator.decode()}", start, end,
                         *around[operator])
        elif operator in GROWS:
            start, end = sides[GROWS[operator]]
            whole = slice(node.extent.start.offset, node.extent.end.offset)
            self.add("shifted", start, end, b"((", b") + EL_FAULT(%d))", whole)

    def visit(self, node, is_last):
        """`is_last`: nothing of the function follows the statement."""
        from clang.cindex import CursorKind as Kind, StorageClass

        start, end = node.extent.start.offset, node.extent.end.offset
        children = list(node.get_children())
        if node.kind in (Kind.IF_STMT, Kind.WHILE_STMT):
            self.negate(*self.parentheses(start)[:2])
        elif node.kind == Kind.FOR_STMT:
            parts = self.parentheses(start)[2]
            if len(parts) == 2:  # more of them than a macro has
                self.negate(parts[0] + 1, parts[1])
        elif node.kind == Kind.CONDITIONAL_OPERATOR:
            of = children[0].extent
            if self.bytes[of.end.offset:].lstrip().startswith(b"?"):
                self.negate(of.start.offset, of.end.offset)
            if self.chooses_an_operand(*children):
                children = children[1:]
        elif node.kind == Kind.BINARY_OPERATOR:
            self.operands(node)
        elif node.kind == Kind.RETURN_STMT and not is_last:
            self.add("no return", start, self.bytes.index(b";", end - 1) + 1,
                     b"{ if (!EL_FAULT(%d)) ", b" }")
        elif node.kind == Kind.CASE_STMT:
            children = children[1:]
        elif node.kind == Kind.VAR_DECL and node.storage_class == StorageClass.STATIC:
            return
        for child in children:
            ends = node.kind == Kind.COMPOUND_STMT and is_last and child == children[-1]
            self.visit(child, ends)

    def written(self):
        """The source with its faults. Of two at one place the longer one is outside."""
        opening = sorted(self.faults, key=lambda fault: (fault.start, -fault.end))
        closing = sorted(reversed(opening), key=lambda fault: (fault.end, -fault.start))
        pieces = [(fault.end, 0, fault.after, fault) for fault in closing]
        pieces += [(fault.start, 1, fault.before, fault) for fault in opening]
        text, at = [b'#include "%s"\n#line 1\n' % str(HEADER).encode()], 0
        for offset, _, piece, fault in sorted(pieces, key=lambda piece: piece[:2]):
            text += [self.bytes[at:offset],
                     piece.replace(b"%d", str(fault.number).encode())]
            at = offset
        return b"".join([*text, self.bytes[at:]])


def find(root, files, flags):
    """The sources `files` of the tree `root`, with faults that are numbered from 1."""
    from clang.cindex import CursorKind as Kind, Index, TranslationUnit

    index, number, sources = Index.create(), 0, []
    for file in files:
        source = Source(root, file)
        unit = index.parse(str(root / file), args=flags,
                           options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        for node in unit.cursor.get_children():
            if node.location.file is None or node.location.file.name != str(root / file):
                continue
            if node.kind == Kind.MACRO_INSTANTIATION:
                source.macros.append((node.extent.start.offset, node.extent.end.offset))
            elif node.kind == Kind.FUNCTION_DECL and node.is_definition():
                source.function = node.spelling
                body = list(node.get_children())[-1]
                source.visit(body, True)
        for number, fault in enumerate(source.faults, number + 1):
            fault.number = number
        sources.append(source)
    return sources
