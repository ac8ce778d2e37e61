"""A C2SP tlog-tiles log as pure maths and formats: bytes in, bytes out, no files.

``hashes`` (RFC 6962), ``tree`` (growing, tiles out), ``tiles`` (names, bundles), ``proofs`` (RFC 9162), ``keys`` and
``note`` (signed-note, cosignatures), ``checkpoint``, ``proof`` (tlog-proof). Sources: C2SP at commit 5ba5ee8.
"""
