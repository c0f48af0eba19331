"""Users' objects as they stand: YAML and JSON to typed values, with every mistake pointed out.

`documents` reads files into plain values whose place in the text is known, `cursor` reads fields
out of them, and both put what they dislike into `finding.Findings`. Nothing here decides anything,
and nothing in an input is ever executed, fetched or expanded.
"""
