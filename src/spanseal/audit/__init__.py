"""The audit store: a C2SP tlog-tiles log of spans whose content can be erased while every seal still verifies.

``tlog`` holds the pure maths and formats, ``leaf`` / ``segment`` / ``commitments`` the bytes of this log, ``store`` the
only writer, ``verify`` and ``read`` the readers. May import ``records`` and below, of ``genai`` only the names.
"""
