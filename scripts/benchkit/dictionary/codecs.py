"""The identity of a body that was encoded against a dictionary (RFC 9842, sections 4 and 5)."""

import base64
import ctypes
import hashlib
from ctypes import c_char_p, c_int, c_size_t, c_void_p

from benchkit import codecs, rounds, tools

HEADS = {"dcz": bytes.fromhex("5e2a4d1820000000"), "dcb": bytes.fromhex("ff444342")}
ROOM = 8 << 20  # bytes; more than any body of the experiment
RAW = 0  # BROTLI_SHARED_DICTIONARY_RAW


def field(dictionary):
    """Available-Dictionary of who has it."""
    return f":{base64.b64encode(hashlib.sha256(dictionary).digest()).decode()}:"


def decode(body, coding, dictionary):
    """The identity of a body in any coding; BenchError where it is not whole."""
    if coding not in HEADS:
        return rounds.decode(body, coding)
    head = HEADS[coding] + hashlib.sha256(dictionary).digest()
    if not body.startswith(head):
        raise tools.BenchError(f"a {coding} body begins otherwise than with its dictionary's hash")
    decoder = {"dcz": codecs.zstd_decode, "dcb": from_brotli}[coding]
    return decoder(body[len(head):], dictionary)


def from_brotli(stream, dictionary):
    lib = ctypes.CDLL("libbrotlidec.so.1")
    lib.BrotliDecoderCreateInstance.restype = c_void_p
    lib.BrotliDecoderCreateInstance.argtypes = (c_void_p,) * 3
    lib.BrotliDecoderAttachDictionary.argtypes = (c_void_p, c_int, c_size_t, c_char_p)
    lib.BrotliDecoderDecompressStream.argtypes = (c_void_p,) * 6
    lib.BrotliDecoderDestroyInstance.argtypes = (c_void_p,)
    state = lib.BrotliDecoderCreateInstance(None, None, None)
    lib.BrotliDecoderAttachDictionary(state, RAW, len(dictionary), dictionary)
    source, target = ctypes.create_string_buffer(stream), ctypes.create_string_buffer(ROOM)
    left, room = c_size_t(len(stream)), c_size_t(ROOM)
    at, to = (c_void_p(ctypes.addressof(buffer)) for buffer in (source, target))
    done = lib.BrotliDecoderDecompressStream(state, ctypes.byref(left), ctypes.byref(at),
                                             ctypes.byref(room), ctypes.byref(to), None)
    lib.BrotliDecoderDestroyInstance(state)
    if done != 1 or left.value:
        raise tools.BenchError("the dcb body is broken")
    return target.raw[:ROOM - room.value]
