"""Bytes to text: UTF-8, as Kubernetes and JSON want it, or a finding that says what else it is."""

import codecs

from fairlead.manifest.finding import Findings

_FIX = "save the file as UTF-8, without a byte order mark"
_OTHER_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def decode_text(data: bytes, file: str, findings: Findings) -> str | None:
    """Return the text with plain line ends, or None with an error when it is not UTF-8.

    A leading byte order mark is taken off with an advice, because other tools stumble over it.
    Neither YAML nor JSON tells the kinds of line ends apart.
    """
    for mark, name in _OTHER_MARKS.items():
        if data.startswith(mark):
            message = f"found {name} text, expected UTF-8"
            findings.add("error", "not-utf8", file=file, line=1, message=message, fix=_FIX)
            return None
    if data.startswith(codecs.BOM_UTF8):
        message = "found a byte order mark at the beginning"
        findings.add("advice", "byte-order-mark", file=file, line=1, message=message, fix=_FIX)
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        message = f"found the byte 0x{data[error.start]:02X}, which is no UTF-8 text"
        findings.add("error", "not-utf8", file=file, line=line, message=message, fix=_FIX)
        return None
